// One process, from any source: live, core file, own process, sample. Sizes are in bytes.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/diagnosis.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack {

using ThreadId = std::uint32_t;

/// A mapping of the target's address space.
struct Region {
  AddressRange range;
  std::uint64_t file_offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  bool readable = false, writable = false, executable = false, shared = false, deleted = false;
  std::string path;  ///< as the target sees it, without " (deleted)"; "[stack]", "[vdso]", or empty
};

/// Bytes copied out of the target at one instant.
struct MemorySlice {
  Address base = 0;
  std::span<const std::byte> bytes;
  [[nodiscard]] AddressRange range() const { return {base, base + bytes.size()}; }
};

/// Floating-point and vector registers, by number: xmm or ymm 0 to 15, v0 to v31. The first `size` bytes of
/// each are used, little-endian.
struct VectorRegisters {
  std::uint8_t size = 0;  ///< 16, or 32 for ymm
  std::vector<std::array<std::byte, 32>> values;
};

/// One thread at the stop.
struct ThreadCapture {
  ThreadId tid = 0;
  ThreadId ns_tid = 0;  ///< its id in the target's own pid namespace (known to the runtime), else == tid
  std::string comm;
  char kernel_state = '?';           ///< its state when it was stopped, as in /proc/PID/task/TID/stat: R S D T t Z
  std::int64_t syscall = -1;         ///< number of the system call it is blocked in, -1: none or unknown
  bool captured = false;             ///< registers and stack are valid; otherwise `error` says why not
  bool stack_truncated = false;      ///< the byte budget was used up before the stack's end
  std::int32_t pending_signal = 0;   ///< signal whose delivery we intercepted and restored
  std::chrono::nanoseconds late{0};  ///< time from the capture's instant to its own stop
  /// 0: the instant of its capture; N: that of `Capture::late[N - 1]`, of whose thread this is a copy.
  std::uint32_t instant = 0;
  Error error;
  std::uint64_t taken_ns = 0;  ///< for a sample (`not_stopped`): CLOCK_MONOTONIC; 0: not known
  Registers registers;
  /// If the source has them at no cost (a core), or they were requested and are available; else null.
  std::shared_ptr<const VectorRegisters> vectors;
  MemorySlice stack;  ///< from below sp (red zone included) upwards; the Capture owns the bytes
};

/// How consistent the threads of a capture are with each other.
enum class Consistency : std::uint8_t {
  all_stopped_together,
  one_by_one,
  /// Samples of threads that ran on: the runtime's records of them (Thread objects, explicit Frames) are of another
  /// time than their stacks, and walks do not use them. `Session::walker_of` walks samples kept by the caller.
  not_stopped,
};

/// Frees bytes, or tells their lender that they are no longer used. Thread-safe.
struct BytesOwner {
  BytesOwner() = default;
  BytesOwner(std::default_delete<std::byte[]> /*of make_unique*/) {}  // NOLINT: makes every buffer fit
  explicit BytesOwner(std::shared_ptr<void> of_lender) : lender(std::move(of_lender)) {}
  void operator()(std::byte* bytes) const {
    if (lender == nullptr) delete[] bytes;
  }

 private:
  std::shared_ptr<void> lender;
};
using OwnedBytes = std::unique_ptr<std::byte[], BytesOwner>;

/// Everything read from a target in one stop. Movable, owns its bytes, and is independent of the target afterwards,
/// except for `frozen`.
struct Capture {
  Arch arch = Arch::unknown;
  Consistency consistency = Consistency::all_stopped_together;
  std::vector<ThreadCapture> threads;
  /// Memory that cannot change any more (a core's), for bytes outside of the slices. Null for a live target, whose
  /// stacks are never read after the stop. Borrowed from the target.
  const MemoryReader* frozen = nullptr;
  std::uint64_t pac_mask = 0;  ///< bits of a return address that are its signature (AArch64 pointer authentication)
  /// The runtime's roots, read in the same stop (see RootSource), and stacks that threads have left for an alternate
  /// signal stack.
  std::vector<MemorySlice> roots;
  std::chrono::nanoseconds pause{0};  ///< first interrupt to last release; with `together`, the longest of a group
  /// With `together`: the sum over all threads of how long each was held.
  std::chrono::nanoseconds held{0};
  std::uint32_t threads_not_stopped = 0;
  std::vector<OwnedBytes> storage;  ///< owns the bytes of the slices
  /// The mappings of that instant, by address; null: the source has none (use `Target::regions`).
  std::shared_ptr<const std::vector<Region>> regions;
  /// Threads that did not stop in time for this instant (busy machine, CPU quota), each at its own. Complete captures
  /// with their own roots; threads that stopped at the same time are in one. `Session::capture` also puts copies of
  /// these threads into `threads`, so that it has all of them.
  std::vector<Capture> late;
};

/// Memory that must be read in the same stop as the stacks: the Thread objects of a runtime. Called while the target is
/// stopped: must be quick, bounded and read only through `memory`. May be called more than once for a capture. The
/// first call may be made while the target runs: its ranges are fetched again in the stop with one system call, so that
/// following lists costs nothing there. Only the last answer counts: keep no state between calls.
class RootSource {
 public:
  virtual ~RootSource() = default;
  /// Appends the ranges to copy, found by reading `memory` if needed (list links).
  virtual void collect(const MemoryReader& memory, std::vector<AddressRange>& out) = 0;
};

struct CaptureRequest {
  std::vector<ThreadId> threads;  ///< empty: all; ids of other processes' threads are ignored and never touched
  std::chrono::milliseconds stop_timeout{20};  ///< for the one instant at which all are stopped
  /// For threads that do not stop in that time: until the next one stops, and five times as long in all.
  std::chrono::milliseconds late_timeout{2000};
  std::size_t initial_stack_bytes = 64 << 10;
  /// For all threads together, beyond the initial bytes. Only for stacks whose end is known; of others (fibers and
  /// coroutines, in mappings shared with other data) only the initial bytes are copied.
  std::size_t stack_byte_budget = 64 << 20;
  RootSource* roots = nullptr;  ///< borrowed; may be null
  bool vectors = false;         ///< also floating-point and vector registers (live and debugged processes)
  /// At most so many threads are stopped at the same time, one group after the other: for samples, which need not be of
  /// one instant. The capture is then `not_stopped`, unless there are `roots` and one group has all threads. 0: all.
  /// (Live processes only.)
  std::size_t together = 0;
  bool goes_on = false;  ///< continues the last capture: its budgets are not renewed
  /// False: `comm` may be left empty to shorten the capture; `Target::thread_facts` has it then.
  bool names = true;
};

/// The end of the process, as recorded in its core.
struct CrashFacts {
  ThreadId tid = 0;                     ///< the thread that received the signal; 0: not known
  std::int32_t signal = 0;              ///< Linux signal number; 0: none (a core of a running process)
  std::int32_t code = 0;                ///< si_code (sigaction(2)): the cause
  std::optional<Address> address;       ///< si_addr: the address accessed or executed, for faults
  std::optional<std::uint32_t> sender;  ///< si_pid: the sending process, for signals that are sent
};

struct TargetInfo {
  std::uint32_t pid = 0;
  Arch arch = Arch::unknown;
  std::string executable;  ///< path as the target sees it
  std::vector<std::string> command_line;
  Address entry_point = 0;      ///< AT_ENTRY (getauxval(3)); 0: not known
  Address program_headers = 0;  ///< AT_PHDR
  Address vdso = 0;             ///< AT_SYSINFO_EHDR
  std::uint64_t page_size = 4096;
  std::string core_path;            ///< path of the core file; empty: a process
  std::string comm;                 ///< the kernel's short name, if the source has it
  std::optional<CrashFacts> crash;  ///< only of cores
};

/// Bytes of a file-backed image, shared by all that points into it. Bytes once returned never change, whatever happens
/// to the file, and reading them cannot fault (see engine/images/file_bytes.h).
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  /// The whole file, which reads all of it. For big files use `range`.
  [[nodiscard]] virtual std::span<const std::byte> bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const { return bytes().size(); }
  /// `size` bytes at `offset`, valid as long as this object; empty: the file does not (or no longer) hold all of them.
  [[nodiscard]] virtual std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const {
    const auto all = bytes();
    if (offset > all.size() || all.size() - offset < size) return {};
    return all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }
  /// Copies bytes from `offset` on without keeping them, for reading a file once from end to end. Returns how many:
  /// fewer only at the end of the file or on an error. They may be newer than the bytes of `range`.
  [[nodiscard]] virtual std::size_t copy(std::uint64_t offset, std::span<std::byte> out) const {
    if (offset >= size()) return 0;
    const auto some = range(offset, size() - offset < out.size() ? size() - offset : out.size());
    if (!some.empty()) std::memcpy(out.data(), some.data(), some.size());
    return some.size();
  }
};

/// The kernel's facts about one thread beside its registers. Empty members: not known.
struct ThreadFacts {
  std::optional<std::chrono::nanoseconds> cpu;     ///< CPU time since it began
  std::optional<std::chrono::nanoseconds> queued;  ///< time it was ready to run without a CPU
  /// CPU time of all threads of the process, ended ones included, taken when all threads were back in their calls after
  /// the stop and before any `cpu` was read: as long as it stays the same, none has run since.
  std::optional<std::chrono::nanoseconds> process_cpu;
  /// How long it had not run when it was stopped. Every stop makes a thread run: for a thread that we stopped before
  /// and that still waits, it is the time since then.
  std::optional<std::chrono::nanoseconds> off_cpu;
  /// Kernel function in which it waits (/proc/PID/task/TID/wchan); empty: it runs, or we may not read it.
  std::string wait_channel;
  /// Arguments of the system call it was captured in, if it is still in that call.
  std::optional<std::array<std::uint64_t, 6>> arguments;
  std::optional<std::int32_t> fd;  ///< the file descriptor that the call is about
  /// The object of the call: "tcp 10.0.0.1:443 -> 10.0.0.9:51012", "pipe", "epoll of 12 files", "/var/lib/data.db"; the
  /// path of a file being opened; "futex 0x7f12a0001234". As the system has it: not escaped.
  std::string object;
  std::string comm;  ///< its name, if the capture left it out
};

/// The kernel's facts about a running process as a whole. Empty members: not known.
struct ProcessUsage {
  std::optional<std::chrono::nanoseconds> cpu;     ///< CPU time since it began
  std::optional<std::chrono::nanoseconds> uptime;  ///< time since it began
  /// CPUs that it kept busy during the last `interval` in which it could run: 1.9 for two computing threads.
  std::optional<double> busy;
  std::chrono::nanoseconds interval{0};
  std::uint64_t resident_bytes = 0;  ///< resident memory now; 0: not known
  std::string container;             ///< id of its container, 12 digits; empty: none, or not known
};

/// A source of process state. One thread at a time, unless the implementation says otherwise; not signal-safe.
class Target {
 public:
  virtual ~Target() = default;
  [[nodiscard]] virtual const TargetInfo& info() const = 0;
  /// The memory as it is now. A live process runs on: use the capture's slices for data that must be of one instant.
  [[nodiscard]] virtual const MemoryReader& memory() const = 0;
  /// The same for constants: where a core lacks a page of an image, reads it as the loader made it from the file, even
  /// if the program may have changed it since. Only for data that never changes.
  [[nodiscard]] virtual const MemoryReader& loaded_memory() const { return memory(); }
  [[nodiscard]] virtual Result<std::vector<ThreadId>> threads() const = 0;
  [[nodiscard]] virtual Result<std::vector<Region>> regions() const = 0;
  /// The file of a mapping, through the target's own root, even if it was deleted or replaced.
  [[nodiscard]] virtual Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const = 0;
  /// Whether `open_file` returns the very file that is mapped (by device and inode), or fails. If so, read image facts
  /// from the file: memory may hold another library by the time it is read.
  [[nodiscard]] virtual bool proves_files() const { return false; }
  /// A file by path as the target sees it (debug files beside an image).
  [[nodiscard]] virtual Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const = 0;
  /// The primitive: the state of threads at one instant. The target runs again when this returns.
  [[nodiscard]] virtual Result<Capture> capture(const CaptureRequest& request) = 0;
  /// Faults of the source itself found so far: files that are missing or do not match, a truncated core. Grows with
  /// use.
  [[nodiscard]] virtual std::vector<Diagnosis> diagnoses() const { return {}; }
  /// The kernel's facts about captured threads, in their order, read now while the target runs; empty: not available
  /// (cores).
  [[nodiscard]] virtual std::vector<ThreadFacts> thread_facts(std::span<const ThreadCapture> /*threads*/) const {
    return {};
  }
  /// Called before a capture of these threads (none: all) if their `thread_facts` will be asked for: reads now the
  /// facts that the stop changes. `off_cpu`: include how long threads have not run, and where in the kernel they wait.
  virtual void prepare_thread_facts(std::span<const ThreadId> /*threads*/, bool /*off_cpu*/) {}
  /// The process as a whole, since the last call or since it was opened; for `stopped` of that time it could not run.
  /// Nothing: not available (cores).
  [[nodiscard]] virtual std::optional<ProcessUsage> usage(std::chrono::nanoseconds /*stopped*/) { return std::nullopt; }
};

/// How threads of our own process, other than the calling one, are captured. Neither way is used unless asked for.
enum class OwnThreads : std::uint8_t {
  calling_only,  ///< the others are listed with the error `unsupported`
  by_signal,  ///< each runs a signal handler, installed for the time of a capture, that copies its registers and stack
  by_helper,  ///< a child process stops and captures us as it would any other process
};

struct SelfOptions {
  OwnThreads others = OwnThreads::calling_only;
  int signal = 0;                                  ///< for `by_signal`: a signal that the program does not use
  std::chrono::milliseconds helper_timeout{5000};  ///< for `by_helper`: the whole capture
};

}  // namespace mixstack
