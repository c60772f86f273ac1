// The holders of the objects of a managed heap, as plain data. Sizes are in bytes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/requests.h"

namespace mixstack {

/// Things that keep objects alive without being one.
enum class RootKind : std::uint8_t {
  none,           ///< no root: an object
  static_field,   ///< a static; its name is the type's and the field's
  thread_static,  ///< the same of one thread
  thread_slots,   ///< statics of one thread whose names are not known
  strong_handle,
  pinned_handle,
  async_pinned_handle,
  sized_handle,
  counted_handle,
  finalizer,  ///< waits for its finalizer to run
  several,    ///< reached from more than one root, none of which holds it alone
  stack,      ///< words of a thread's stack and registers, which may be of the past
  local,      ///< a thread: what its live variables refer to, as the runtime's own tables say
  count
};
/// "static_field", as in JSON.
[[nodiscard]] const char* to_string(RootKind kind);

/// How the objects of a line belong together.
enum class HolderShape : std::uint8_t {
  root,
  objects,     ///< of one type, side by side
  list,        ///< of one type, each held by another one of them
  collection,  ///< one of the class library, with the arrays and nodes inside of it
  delegate,    ///< lists of delegates, with these
  count
};
[[nodiscard]] const char* to_string(HolderShape shape);

/// Where on a thread's stack lies a reference that is live.
struct StackPlace {
  std::uint32_t thread = 0;  ///< its id
  std::string method;        ///< C# name of the frame's; empty: not known, or the runtime's own code
  std::string variable;      ///< the argument or local; empty: not known
  std::string reg;           ///< the register that it is in; empty: it lies in `slot`
  Address slot = 0;
};

/// A root that reaches something.
struct HolderRoot {
  RootKind kind = RootKind::none;
  std::string name;
};

/// A request that an async method works on, found by the methods that await it.
struct HolderRequest {
  RequestKind kind = RequestKind::incoming;
  std::string method;  ///< as in Request
  std::string what;    ///< as in Request; only with `HoldersOptions::data`
  friend bool operator==(const HolderRequest&, const HolderRequest&) = default;
};

/// A line of the tree: objects of one type with the same holder, and what would go with them.
struct Holder {
  RootKind root = RootKind::none;
  HolderShape shape = HolderShape::objects;
  std::string name;                     ///< of a root; of an object its C# type; empty: not known
  std::string field;                    ///< of the line above, that refers to it; empty: not known, or none
  std::uint64_t count = 0;              ///< objects of the type; delegates in a list; of a root 0
  std::uint64_t own = 0;                ///< their bytes, and of what is inside of a collection
  std::uint64_t retained = 0;           ///< bytes that nobody else holds, their own included
  Address largest = 0;                  ///< the one that retains most; of a root 0
  std::vector<std::string> methods;     ///< that delegates, timers and async methods among them stand for, at most 3
  std::vector<HolderRequest> requests;  ///< that async methods among them work on, at most 3 different ones
  std::optional<StackPlace> place;      ///< right below a root of kind `local`: what refers to `largest`
  /// With the kind `several`: roots that reach them, those of most bytes first, and how many more do.
  std::vector<HolderRoot> roots;
  std::uint64_t more_roots = 0;
  bool are_roots_all = true;  ///< false: the search for them was cut short, there may be more
  bool is_verified = true;    ///< of `HoldersCertainty::read_twice`: a way to `largest` was seen in one stop
  std::vector<Holder> held;   ///< most bytes first; a few
  std::uint64_t rest = 0;     ///< retained by lines that are left out
};

/// A step of a path: a root, or objects of one type one behind the other.
struct HolderStep {
  RootKind root = RootKind::none;
  std::string name;         ///< as in Holder
  std::string field;        ///< of the step before, that refers to it
  std::uint64_t count = 1;  ///< objects one behind the other
  Address object = 0;       ///< the last of them, on the path that is shown; of a root 0
  std::string method;
  std::optional<HolderRequest> request;  ///< that an async method works on
  std::optional<StackPlace> place;       ///< as in Holder
};

/// A shortest way from a root, and the objects at its end.
struct HolderPath {
  std::vector<HolderStep> steps;
  std::uint64_t count = 0;     ///< objects that such a way leads to
  std::uint64_t own = 0;       ///< their bytes
  std::uint64_t retained = 0;  ///< bytes that only they hold
  Address holder = 0;          ///< of the object asked for: its immediate dominator; 0: a root
  std::string holder_name;     ///< the dominator's type, or the root's name
  bool is_verified = true;     ///< as in Holder
};

/// Roots of one kind.
struct RootSum {
  RootKind kind = RootKind::none;
  std::uint64_t roots = 0;     ///< that lead to an object
  std::uint64_t retained = 0;  ///< bytes that each of them holds alone, added up
};

/// The moment that an answer is of.
enum class HoldersCertainty : std::uint8_t {
  none,        ///< there is no answer
  one_moment,  ///< all of it is of one moment: a stop, or a core
  /// A stop would have been too long. All was read twice while the process ran, between two collections, and what both
  /// readings say was kept; then the ways that are shown were looked at in one stop.
  read_twice,
  count
};
/// "one_moment", as in JSON.
[[nodiscard]] const char* to_string(HoldersCertainty certainty);

/// The holders of the objects of one runtime's heap.
struct HeapHolders {
  std::vector<Holder> tree;       ///< most bytes first
  std::uint64_t rest = 0;         ///< retained by lines that are left out
  std::string asked;              ///< HoldersOptions::of
  std::vector<HolderPath> paths;  ///< to what was asked for, most bytes first
  bool was_found = false;         ///< what was asked for
  std::uint64_t more_paths = 0;   ///< that are left out
  std::uint64_t unheld = 0;       ///< objects that were asked for, and that no root reaches: garbage

  std::vector<RootSum> roots;
  std::uint64_t all_objects = 0, all_bytes = 0;      ///< of the heap, without gaps
  std::uint64_t gap_bytes = 0;                       ///< between objects
  std::uint64_t held_objects = 0, held_bytes = 0;    ///< by roots other than stacks
  std::uint64_t local_objects = 0, local_bytes = 0;  ///< by live variables of threads alone
  std::uint64_t stack_objects = 0, stack_bytes = 0;  ///< by other words of stacks alone: perhaps alive
  std::uint64_t references = 0;
  /// Checks of all references, which two readers of one heap must agree on: the sum over all of (from * a) ^ (to * b).
  std::uint64_t reference_sum = 0;
  std::uint64_t dangling = 0;  ///< references that lead to no object: 0 in a heap that is whole

  bool is_server = false;
  HoldersCertainty certainty = HoldersCertainty::none;
  std::uint64_t chains = 0, chains_verified = 0;  ///< of `read_twice`: ways that are shown, and seen in one stop
  std::uint64_t changed_words = 0;                ///< of `read_twice`: they were left out
  /// Every region ended where it says, every reference leads to an object, and all of it is of one moment.
  bool is_exact = false;
  std::string why_not;                ///< where not: in words
  std::chrono::nanoseconds pause{0};  ///< how long the process was stopped, the longest stop; 0: a core
  std::uint32_t stops = 0;
  std::uint64_t copied_in_stop = 0;
  std::uint64_t copied = 0;        ///< bytes of our memory for copies of objects
  std::uint64_t graph_memory = 0;  ///< bytes of our memory for the rest, at most
};

struct HoldersOptions {
  /// A stop ends when it has lasted so long, whatever was read by then. A longer one is not begun.
  std::chrono::milliseconds most_pause{50};
  /// A type's C# name, or an object's address ("0x7f..."); empty: the tree alone.
  std::string of;
  /// Bytes of our own memory; more is refused before it is taken. 0: half of what this machine, or our cgroup, has
  /// left.
  std::uint64_t most_memory = 0;
  bool data = false;  ///< paths of requests and texts of commands, too
};

}  // namespace mixstack
