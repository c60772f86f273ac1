#include "session/native_waits.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>

#include "base/arch/call_arguments.h"

namespace mixstack::session {
namespace {

using namespace std::string_view_literals;
using Arguments = arch::CallArguments;

constexpr std::size_t kNativeFrames = 4;  // innermost ones: the call, its cancellation point, the function asked for

// pthread_mutex_t of glibc (sysdeps/nptl/bits/struct_mutex.h): the lock word that threads wait at, the owner's thread
// id, and the kind: normal and adaptive ones are waited for by their owner, too (nptl/pthread_mutex_lock.c). Higher
// bits of the kind's low byte: protocols, and mutexes that processes share.
constexpr std::uint64_t kOwner = 8, kUsers = 12, kKind = 16;
constexpr std::uint32_t kNormal = 0, kAdaptive = 3, kShared = 0x80, kKindBits = 0xff, kElision = 0x300;
// Robust mutexes, and those that pass on priorities: the lock word has the owner's id and two flags of the kernel.
constexpr std::uint32_t kIdInLock = 0x30, kIdBits = 0x3fffffff;
constexpr std::uint32_t kLocked = 1, kLockedAndWaitedFor = 2;

constexpr std::uint64_t kWait = 0, kOperation = 0x7f, kPrivate = 0x80;  // linux/futex.h

/// pthread_rwlock_t of glibc (sysdeps/nptl/bits/struct_rwlock.h). Threads wait at the phase (readers for the end of a
/// writer, the next writer for the end of readers), at `next_writer` (other writers), or, of locks that prefer writers,
/// at the readers (nptl/pthread_rwlock_common.c).
struct ReadWriteLock {
  std::uint32_t readers, writers, phase, next_writer, pad[2], writer, is_shared;
};
constexpr std::uint32_t kWritePhase = 1, kReadersWait = 4, kReaderShift = 3;  // of `readers`
constexpr std::uint32_t kPhaseOrUsed = 3;                                     // all that the words waited at have

/// Names of the innermost native frames, one behind the other. A libc without symbols of its own names only what it
/// exports: not the function that waits where that was jumped to, not called.
class Calls {
 public:
  Calls(const ProcessDump& dump, const ThreadDump& thread) {
    for (std::size_t i = 0;
         i < std::min(thread.trace.frames.size(), thread.symbols.size()) && names_.size() < kNativeFrames; i++) {
      if (thread.trace.frames[i].kind != FrameKind::native) break;
      if (thread.symbols[i] >= dump.symbols.size()) continue;
      const SymbolInfo& symbol = dump.symbols[thread.symbols[i]];
      if (i == 0) is_nameless_libc_ = symbol.name.empty() && symbol.module.starts_with("libc.so.6");
      names_.push_back(symbol.name);
    }
  }
  /// The call was made by a function of glibc that has no name.
  [[nodiscard]] bool are_of_nameless_libc() const { return is_nameless_libc_; }
  /// One of them has one of these in its name.
  [[nodiscard]] bool have(std::initializer_list<std::string_view> parts) const {
    return std::any_of(names_.begin(), names_.end(), [&](std::string_view name) {
      return std::any_of(parts.begin(), parts.end(),
                         [&](std::string_view part) { return name.find(part) != name.npos; });
    });
  }

 private:
  std::vector<std::string_view> names_;
  bool is_nameless_libc_ = false;
};

/// Arguments of the call that a thread waits in: from the kernel or, in a core, from its registers.
std::optional<Arguments> arguments_of(const ThreadDump& thread) {
  if (thread.facts.arguments) return thread.facts.arguments;
  if (thread.facts.cpu || thread.syscall < 0) return std::nullopt;  // the kernel was asked, and it is in no call
  return arch::arguments_in(thread.registers);
}

class NativeWaits {
 public:
  NativeWaits(const ProcessDump& dump, const MemoryReader& memory) : dump_(dump), memory_(memory) {
    for (const ThreadDump& t : dump.threads) by_ns_tid_.emplace(t.ns_tid, t.tid);
  }

  [[nodiscard]] ThreadWait of(const ThreadDump& thread) const {
    const Calls calls(dump_, thread);
    const auto arguments = arguments_of(thread);
    const bool is_nameless = arguments && calls.are_of_nameless_libc();
    const bool locks = calls.have({"mutex_lock"sv, "mutex_timedlock"sv, "mutex_clocklock"sv, "lll_lock_wait"sv});
    if (arguments && (locks || (is_nameless && looks_like_a_mutex(*arguments))))
      if (auto wait = mutex(thread, *arguments, calls); wait.kind != WaitKind::none) return wait;
    if (arguments && calls.have({"rwlock_"sv}) && calls.have({"rdlock"sv, "wrlock"sv}))
      if (auto wait = read_write_lock(thread, *arguments, calls); wait.kind != WaitKind::none) return wait;
    const bool joins = calls.have({"pthread_join"sv, "pthread_clockjoin"sv, "pthread_timedjoin"sv});
    // The kernel, which clears the word, knows no private futexes there.
    if (arguments && (joins || (is_nameless && ((*arguments)[1] & kPrivate) == 0)))
      if (auto wait = joined(thread, *arguments); wait.kind != WaitKind::none) return wait;
    const bool has_managed = std::any_of(thread.trace.frames.begin(), thread.trace.frames.end(),
                                         [](const Frame& f) { return f.kind == FrameKind::managed; });
    if (!has_managed && !dump_.runtimes.empty()) return {};
    return outside(thread, calls, arguments);
  }

 private:
  /// True if the thread locks a mutex that it holds itself, of a kind for which that never ends.
  [[nodiscard]] bool waits_for_itself(Address mutex, const Calls& calls) const {
    const auto kind = memory_.read<std::uint32_t>(mutex + kKind);
    return calls.have({"mutex_lock"sv}) && kind && ((*kind & kKindBits) == kNormal || (*kind & kKindBits) == kAdaptive);
  }

  /// A futex call with a fourth argument times out: FUTEX_WAIT after that time, all other operations at that point of a
  /// clock. How long such a wait lasts is then not known, because its begin is not.
  void add_end(const Arguments& call, ThreadWait& wait) const {
    constexpr std::int64_t kMostSeconds = std::int64_t{1} << 40, kSecond = 1'000'000'000, kMillisecond = 1'000'000;
    if (call[3] == 0) return;
    struct Time {
      std::int64_t seconds, nanoseconds;
    };
    const auto time = (call[1] & kOperation) == kWait ? memory_.read<Time>(call[3]) : Result<Time>(Time{-1, 0});
    if (time && time->seconds >= 0 && time->seconds < kMostSeconds && time->nanoseconds >= 0 &&
        time->nanoseconds < kSecond)
      wait.timeout = std::chrono::milliseconds(time->seconds * 1000 + time->nanoseconds / kMillisecond);
    else
      wait.gives_up = true;
  }

  [[nodiscard]] bool is_locked(Address mutex, std::uint32_t lock, std::uint32_t owner) const {
    if (lock == kLocked || lock == kLockedAndWaitedFor) return true;
    const auto kind = memory_.read<std::uint32_t>(mutex + kKind);
    return kind && (*kind & kIdInLock) != 0 && owner != 0 && (lock & kIdBits) == owner;
  }

  /// The words around it are those of a locked mutex: beside the owner, which is checked in any case, a kind that
  /// exists and a count of users (the owner, and threads that released it to wait for a condition).
  [[nodiscard]] bool looks_like_a_mutex(const Arguments& call) const {
    constexpr std::uint32_t kMostUsers = 1 << 16;
    const auto lock = memory_.read<std::uint32_t>(call[0]);
    const auto users = memory_.read<std::uint32_t>(call[0] + kUsers);
    const auto kind = memory_.read<std::uint32_t>(call[0] + kKind);
    if (!lock || !users || !kind || *users == 0 || *users > kMostUsers || (*kind & ~(kKindBits | kElision)) != 0)
      return false;
    const std::uint32_t plain = *kind & kKindBits & ~kShared;
    return (*kind & kIdInLock) != 0 || (*lock == kLockedAndWaitedFor && plain <= kAdaptive);
  }

  /// Believed if the word that the thread waits at is a locked mutex, and its owner a thread of the process.
  [[nodiscard]] ThreadWait mutex(const ThreadDump& thread, const Arguments& call, const Calls& calls) const {
    const Address at = call[0];
    const auto lock = memory_.read<std::uint32_t>(at);
    const auto owner = memory_.read<std::uint32_t>(at + kOwner);
    if (!lock || !owner || !is_locked(at, *lock, *owner)) return {};
    const auto holder = by_ns_tid_.find(*owner);
    if (holder == by_ns_tid_.end() || (holder->second == thread.tid && !waits_for_itself(at, calls))) return {};
    ThreadWait wait;
    wait.kind = WaitKind::native_mutex;
    wait.proof = Proof::proved;
    wait.object.address = at;
    wait.owners = {holder->second};
    add_end(call, wait);
    return wait;
  }

  /// A lock that is held for writing records its owner; of readers it records the number only.
  [[nodiscard]] ThreadWait read_write_lock(const ThreadDump& thread, const Arguments& call, const Calls& calls) const {
    const Address at = call[0];
    const auto expected = static_cast<std::uint32_t>(call[2]);
    const bool is_at_readers = at % 8 == 0 && (expected & kReadersWait) != 0;
    if (at % 4 != 0 || (!is_at_readers && expected > kPhaseOrUsed)) return {};
    const Address begin =
        is_at_readers ? at : at - (at % 8 == 0 ? offsetof(ReadWriteLock, phase) : offsetof(ReadWriteLock, next_writer));
    const auto lock = memory_.read<ReadWriteLock>(begin);
    if (!lock || lock->is_shared > 1) return {};
    if (!is_at_readers && (at % 8 == 0 ? lock->phase : lock->next_writer) != expected) return {};  // it has gone on
    ThreadWait wait;
    wait.kind = WaitKind::native_rwlock;
    wait.proof = Proof::proved;
    wait.object.address = begin;
    wait.is_reading = calls.have({"rdlock"sv});
    const auto writer = by_ns_tid_.find(lock->writer);
    if (writer != by_ns_tid_.end() && writer->second != thread.tid) {
      wait.owners = {writer->second};
    } else if (lock->writer != 0 && lock->is_shared == 0) {
      return {};  // the word is not part of a read-write lock
    } else if (const std::uint32_t readers = lock->readers >> kReaderShift; (lock->readers & kWritePhase) == 0) {
      if (readers != 0) wait.object.detail = std::to_string(readers) + (readers == 1 ? " reads" : " read");
    }
    add_end(call, wait);
    return wait;
  }

  /// A join waits until the kernel clears the word with the other thread's id. The call's third argument is that id.
  [[nodiscard]] ThreadWait joined(const ThreadDump& thread, const Arguments& arguments) const {
    const auto tid = memory_.read<std::uint32_t>(arguments[0]);
    if (!tid || *tid == 0 || *tid != static_cast<std::uint32_t>(arguments[2])) return {};
    const auto other = by_ns_tid_.find(*tid);
    if (other == by_ns_tid_.end() || other->second == thread.tid) return {};
    ThreadWait wait;
    wait.kind = WaitKind::thread_join;
    wait.proof = Proof::proved;
    wait.owners = {other->second};
    add_end(arguments, wait);
    return wait;
  }

  /// A wait that another process, a device or time ends: it has no owner in this process.
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
