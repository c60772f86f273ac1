// Events of a debugged process, as its debugger receives them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mixstack/target.h"

namespace mixstack::process {

class DebuggedProcess;

enum class DebugEventKind : std::uint8_t {
  stopped,           ///< every thread stands still: a `pause()` took effect, or the process was held at an event
  thread_created,    ///< `tid`
  thread_exited,     ///< `tid`; of threads that an exec removed, too
  forked,            ///< `tid` made the process `child_pid`; `child` is set when children are followed
  execed,            ///< another program now; threads other than the main one have gone, libraries are new
  signalled,         ///< `tid` gets signal `value`; it is delivered, whatever the host does
  library_loaded,    ///< `library`
  library_unloaded,  ///< `library`
  exited,            ///< `value` is the exit status; the last event of a process
  killed,            ///< `value` is the signal; the last event of a process
  detached,          ///< not debugged any more; the last event of a process
};

/// A set of event kinds.
class DebugEventSet {
 public:
  constexpr DebugEventSet() = default;
  [[nodiscard]] static constexpr DebugEventSet all() { return DebugEventSet(0xffff); }
  [[nodiscard]] constexpr DebugEventSet with(DebugEventKind kind) const { return DebugEventSet(bits_ | bit(kind)); }
  [[nodiscard]] constexpr DebugEventSet without(DebugEventKind kind) const { return DebugEventSet(bits_ & ~bit(kind)); }
  [[nodiscard]] constexpr bool contains(DebugEventKind kind) const { return (bits_ & bit(kind)) != 0; }

 private:
  constexpr explicit DebugEventSet(unsigned bits) : bits_(bits) {}
  [[nodiscard]] static constexpr unsigned bit(DebugEventKind kind) { return 1U << static_cast<unsigned>(kind); }
  unsigned bits_ = 0;
};

/// How a child process came to be.
enum class ChildKind : std::uint8_t { fork, vfork, clone };

/// An entry of the dynamic linker's list (struct link_map of <link.h>).
struct LoadedLibrary {
  std::string path;         ///< as the linker wrote it; the executable's own path for its entry
  Address load_bias = 0;    ///< l_addr: what is added to the file's addresses
  Address dynamic = 0;      ///< l_ld: its dynamic section
  Address link_map = 0;     ///< where the entry lies in the target
  bool executable = false;  ///< the program itself, first of the list
  friend bool operator==(const LoadedLibrary&, const LoadedLibrary&) = default;
};

/// Plain data; outlives everything it speaks of. Fields that a kind does not name are empty.
struct DebugEvent {
  DebugEventKind kind = DebugEventKind::stopped;
  std::shared_ptr<DebuggedProcess> process{};
  std::uint32_t pid = 0;
  ThreadId tid = 0;
  int value = 0;             ///< exit status or signal
  bool core_dumped = false;  ///< killed: it left a core
  ChildKind child_kind = ChildKind::fork;
  std::uint32_t child_pid = 0;
  std::shared_ptr<DebuggedProcess> child{};
  LoadedLibrary library{};
};

}  // namespace mixstack::process
