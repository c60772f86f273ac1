// Call tree with times by thread and thread state, for one interval or for a run of hours, in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/words/recording_view.h"

namespace mixstack::top {

/// Thread states that the lists distinguish.
enum class ListedState : std::uint8_t { running, runnable, waiting, unknown };
inline constexpr std::size_t kThreadStates = 4;

struct CountedFunction {
  std::string name{};    ///< fit for a terminal, never empty
  std::string module{};  ///< short name of its file, fit for a terminal; empty: none
  CodeKind kind = CodeKind::unknown;
};

/// Threads are identified by TID. A TID that was reused counts as the same thread.
struct CountedThread {
  std::uint32_t tid = 0;  ///< 0: all threads for which there was no room
  std::string name{};     ///< fit for a terminal
};

/// A function at one call path.
struct CallNode {
  std::uint32_t parent = 0;  ///< always less than the node's own number
  std::uint32_t function = 0;
  bool is_outermost = true;  ///< the function is not among the callers: a recursion counts once
};

/// Time spent in a node itself: nanoseconds, or samples where their period is not known.
struct CallCell {
  std::uint32_t node = 0;
  std::uint32_t thread = 0;
  ListedState state = ListedState::unknown;
  bool in_gc = false;  ///< while the runtime was stopping its threads, or had
  std::uint64_t time = 0;
};

/// A Recording has one stack per distinct list of addresses, and never drops rows: it would grow for hours. Here calls
/// are merged by function, within bounds: when a list is three quarters full, its lighter half is merged into
/// "[other]". So a function that becomes hot after hours still finds room; its earlier time stays in "[other]", and
/// sums stay right. Not thread-safe; copies are independent.
class CallCounts {
 public:
  /// Most entries kept. The defaults take about 60 MiB at most.
  struct Bounds {
    std::size_t functions = 1u << 15, threads = 1u << 12, nodes = 1u << 17, cells = 1u << 18;
    std::size_t places = 1u << 24;  ///< sum of the depths of all nodes: the cost of one pass over all stacks
  };
  static constexpr std::uint32_t kRoot = 0, kOtherNode = 1;  ///< nodes
  static constexpr std::uint32_t kOther = 0;                 ///< function and thread for which there was no room
  static constexpr std::string_view kOtherName = "[other]";

  CallCounts() : CallCounts(Bounds{}) {}
  explicit CallCounts(const Bounds& bounds);

  /// Adds what a view of a recording shows. The view is one of functions, not inverted and not by thread or process.
  void add(const Recording& recording, const RecordingView& view);

  [[nodiscard]] const std::vector<CountedFunction>& functions() const { return functions_; }
  [[nodiscard]] const std::vector<CountedThread>& threads() const { return threads_; }
  /// The first two are kRoot and kOtherNode.
  [[nodiscard]] const std::vector<CallNode>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<CallCell>& cells() const { return cells_; }
  /// kNoIndex: not found.
  [[nodiscard]] std::uint32_t find_function(std::string_view name, CodeKind kind) const;
  [[nodiscard]] std::uint32_t find_thread(std::uint32_t tid) const;

 private:
  using CellKey = std::pair<std::uint64_t, std::uint32_t>;
  struct CellHash {
    std::size_t operator()(const CellKey& key) const {
      return std::hash<std::uint64_t>{}((key.first * 0x9e3779b97f4a7c15u) ^ key.second);
    }
  };
  // Each answers kNoIndex where there is no room.
  [[nodiscard]] std::uint32_t function(const std::string& name, const std::string& module, CodeKind kind);
  [[nodiscard]] std::uint32_t thread(std::uint32_t tid, std::string name);
  [[nodiscard]] std::uint32_t child(std::uint32_t parent, std::uint32_t function);
  void add(CallCell cell);
  [[nodiscard]] std::vector<std::uint32_t> places_of(const Recording& recording, const RecordingView& view);
  [[nodiscard]] bool is_nearly_full() const;
  void thin();
  void take_over(const CallCounts& from, const std::vector<bool>& keeps_node, const std::vector<bool>& keeps_thread,
                 std::uint64_t least);

  Bounds bounds_;
  std::vector<CountedFunction> functions_;
  std::vector<CountedThread> threads_;
  std::vector<CallNode> nodes_;
  std::vector<std::uint32_t> depths_;  ///< of nodes
  std::vector<CallCell> cells_;
  std::size_t places_ = 0;
  std::unordered_map<std::string, std::uint32_t> function_numbers_;  ///< by kind and name
  std::unordered_map<std::uint32_t, std::uint32_t> thread_numbers_;  ///< by tid
  std::unordered_map<std::uint64_t, std::uint32_t> node_numbers_;    ///< by parent and function
  std::unordered_map<CellKey, std::uint32_t, CellHash> cell_numbers_;
};

}  // namespace mixstack::top
