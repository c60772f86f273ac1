#include "session/native_waits.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "arch/call_arguments.h"

namespace mixstack::session {
namespace {

using namespace std::string_view_literals;
using Arguments = std::array<std::uint64_t, 6>;

constexpr std::size_t kNativeFrames = 4;  // innermost ones: the call, its cancellation point, the function asked for

// pthread_mutex_t of glibc (sysdeps/nptl/bits/struct_mutex.h): the lock word that threads wait at, the owner's thread
// id, and the kind: normal and adaptive ones are waited for by their owner, too (nptl/pthread_mutex_lock.c). Higher
// bits of the kind's low byte: protocols, and mutexes that processes share.
constexpr std::uint64_t kOwner = 8, kKind = 16;
constexpr std::uint32_t kNormal = 0, kAdaptive = 3, kKindBits = 0xff;

/// Names of the innermost native frames, one behind the other.
class Calls {
 public:
  Calls(const ProcessDump& dump, const ThreadDump& thread) {
    for (std::size_t i = 0;
         i < std::min(thread.trace.frames.size(), thread.symbols.size()) && names_.size() < kNativeFrames; i++) {
      if (thread.trace.frames[i].kind != FrameKind::native) break;
      if (thread.symbols[i] < dump.symbols.size()) names_.push_back(dump.symbols[thread.symbols[i]].name);
    }
  }
  /// One of them has one of these in its name.
  [[nodiscard]] bool have(std::initializer_list<std::string_view> parts) const {
    return std::any_of(names_.begin(), names_.end(), [&](std::string_view name) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](std::string_view part) { return name.find(part) != name.npos; });
    });
  }

 private:
  std::vector<std::string_view> names_;
};

/// Arguments of the call that a thread waits in: as the kernel tells, or of a core as its registers have them.
std::optional<Arguments> arguments_of(const ThreadDump& thread) {
  if (thread.facts.arguments) return thread.facts.arguments;
  if (thread.facts.cpu || thread.syscall < 0) return std::nullopt;  // the kernel was asked, and it is in no call
  Arguments arguments{};
  const auto& registers = arch::kCallArguments[thread.registers.arch()];
  for (std::size_t i = 0; i < arguments.size(); i++) {
    const auto value = thread.registers.get(registers[i]);
    if (!value) return std::nullopt;
    arguments[i] = *value;
  }
  return arguments;
}

class NativeWaits {
 public:
  NativeWaits(const ProcessDump& dump, const MemoryReader& memory) : dump_(dump), memory_(memory) {
    for (const ThreadDump& t : dump.threads) by_ns_tid_.emplace(t.ns_tid, t.tid);
  }

  [[nodiscard]] ThreadWait of(const ThreadDump& thread) const {
    const Calls calls(dump_, thread);
    const auto arguments = arguments_of(thread);
    if (arguments && calls.have({"mutex_lock"sv, "mutex_timedlock"sv, "mutex_clocklock"sv, "lll_lock_wait"sv}))
      if (auto wait = mutex(thread, (*arguments)[0], calls); wait.kind != WaitKind::none) return wait;
    if (arguments && calls.have({"pthread_join"sv, "pthread_clockjoin"sv, "pthread_timedjoin"sv}))
      if (auto wait = joined(thread, *arguments); wait.kind != WaitKind::none) return wait;
    const bool has_managed = std::any_of(thread.trace.frames.begin(), thread.trace.frames.end(),
                                         [](const Frame& f) { return f.kind == FrameKind::managed; });
    if (!has_managed && !dump_.runtimes.empty()) return {};
    return outside(thread, calls, arguments);
  }

 private:
  /// A thread that has locked a mutex and locks it once more, where that never ends.
  [[nodiscard]] bool waits_for_itself(Address mutex, const Calls& calls) const {
    const auto kind = memory_.read<std::uint32_t>(mutex + kKind);
    return calls.have({"mutex_lock"sv}) && kind && ((*kind & kKindBits) == kNormal || (*kind & kKindBits) == kAdaptive);
  }

  /// Believed where the word at which the thread waits is a locked mutex whose owner is a thread of the process.
  [[nodiscard]] ThreadWait mutex(const ThreadDump& thread, Address at, const Calls& calls) const {
    constexpr std::uint32_t kLocked = 1, kLockedAndWaitedFor = 2;
    const auto lock = memory_.read<std::uint32_t>(at);
    const auto owner = memory_.read<std::uint32_t>(at + kOwner);
    if (!lock || !owner || (*lock != kLocked && *lock != kLockedAndWaitedFor)) return {};
    const auto holder = by_ns_tid_.find(*owner);
    if (holder == by_ns_tid_.end() || (holder->second == thread.tid && !waits_for_itself(at, calls))) return {};
    ThreadWait wait;
    wait.kind = WaitKind::native_mutex;
    wait.proof = Proof::proved;
    wait.object.address = at;
    wait.owners = {holder->second};
    return wait;
  }

  /// A join waits until the kernel clears the word that holds the other's thread id, and passes that id.
  [[nodiscard]] ThreadWait joined(const ThreadDump& thread, const Arguments& arguments) const {
    const auto tid = memory_.read<std::uint32_t>(arguments[0]);
    if (!tid || *tid == 0 || *tid != static_cast<std::uint32_t>(arguments[2])) return {};
    const auto other = by_ns_tid_.find(*tid);
    if (other == by_ns_tid_.end() || other->second == thread.tid) return {};
    ThreadWait wait;
    wait.kind = WaitKind::thread_join;
    wait.proof = Proof::proved;
    wait.owners = {other->second};
    return wait;
  }

  /// Something that another process, a device or time ends: nobody in here is its owner.
  [[nodiscard]] static ThreadWait outside(const ThreadDump& thread, const Calls& calls,
                                          const std::optional<Arguments>& arguments) {
    ThreadWait wait;
    wait.proof = Proof::recorded;
    const std::string& object = thread.facts.object;
    const auto is = [&object](std::string_view kind) { return object.starts_with(kind); };
    if (thread.kernel_state == 'R') return {};
    if (calls.have({"nanosleep"sv})) {
      wait.kind = WaitKind::sleep;
      return wait;
    }
    if (arguments && calls.have({"waitpid"sv, "wait4"sv, "waitid"sv})) {
      wait.kind = WaitKind::child_process;
      if (const auto pid = static_cast<std::int32_t>((*arguments)[0]); pid > 0 && !calls.have({"waitid"sv}))
        wait.object.type = std::to_string(pid);
      return wait;
    }
    if (object.empty() || is("futex ")) return {};
    wait.object.type = object;
    if (is("epoll") || !thread.facts.fd) {
      wait.kind = calls.have({"open"sv}) ? WaitKind::file : WaitKind::poll;
    } else if (is("tcp ") || is("udp ") || is("unix ") || object == "socket") {
      wait.kind = WaitKind::socket;
    } else if (object == "pipe") {
      wait.kind = WaitKind::pipe;
      wait.object.type = "file descriptor " + std::to_string(*thread.facts.fd);
    } else {
      wait.kind = WaitKind::file;
    }
    return wait;
  }

  const ProcessDump& dump_;
  const MemoryReader& memory_;
  std::unordered_map<ThreadId, ThreadId> by_ns_tid_;
};

}  // namespace

void read_native_waits(ProcessDump& dump, const MemoryReader& memory) {
  const NativeWaits waits(dump, memory);
  for (ThreadDump& t : dump.threads) {
    if (!t.captured || t.wait) continue;
    ThreadWait wait = waits.of(t);
    if (wait.kind != WaitKind::none) t.wait = std::move(wait);
  }
}

}  // namespace mixstack::session
