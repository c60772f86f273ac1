// One process, wherever its state comes from: live, core file, own process, sample.
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

/// Floating-point and vector registers, by number: xmm or ymm, v. Little-endian bytes, `size` of each are used.
struct VectorRegisters {
  std::uint8_t size = 0;  ///< 16, or 32 for ymm
  std::vector<std::array<std::byte, 32>> values;
};

/// One thread as it was at the stop.
struct ThreadCapture {
  ThreadId tid = 0;
  ThreadId ns_tid = 0;  ///< its id in the target's own pid namespace (what the runtime knows), else == tid
  std::string comm;
  char kernel_state = '?';    ///< what the thread did when it was stopped, as in /proc/PID/task/TID/stat: R S D T t Z
  std::int64_t syscall = -1;  ///< number of the system call it is blocked in, -1: none or unknown
  bool captured = false;      ///< registers and stack are valid; otherwise `error` says why not
  bool stack_truncated = false;      ///< the byte budget ended before the stack did
  std::int32_t pending_signal = 0;   ///< signal whose delivery we intercepted and gave back
  std::chrono::nanoseconds late{0};  ///< how long after the capture's instant it stopped
  /// 0: that of the capture it is in; N: that of `Capture::late[N - 1]`, of whose thread this is a copy.
  std::uint32_t instant = 0;
  Error error;
  std::uint64_t taken_ns = 0;  ///< of a sample (`not_stopped`): CLOCK_MONOTONIC; 0: not told
  Registers registers;
  /// Where the source has them at no cost (a core), or they were asked for and it can tell them; else null.
  std::shared_ptr<const VectorRegisters> vectors;
  MemorySlice stack;  ///< from below sp (red zone included) upwards; bytes owned by the Capture
};

/// How consistent with each other the threads of a capture are.
enum class Consistency : std::uint8_t {
  all_stopped_together,
  one_by_one,
  /// Samples of threads that ran on: what the runtime recorded of them (Thread objects, explicit Frames) is of another
  /// time than their stacks, and no walk believes it. A walker of such a capture, which may have no threads at all,
  /// walks samples that the caller keeps: any `ThreadCapture`, its bytes included.
  not_stopped,
};

/// Frees bytes, or tells whoever lent them that they are no longer used. Thread-safe.
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

/// Everything read from a target in one stop. Movable, owns its bytes; independent of the target afterwards, but for
/// `frozen`, which is borrowed from it.
struct Capture {
  Arch arch = Arch::unknown;
  Consistency consistency = Consistency::all_stopped_together;
  std::vector<ThreadCapture> threads;
  /// Memory that cannot change any more (a core's), for what the slices do not hold; null for a live target, whose
  /// stacks are never read after the stop. Borrowed from the target.
  const MemoryReader* frozen = nullptr;
  std::uint64_t pac_mask = 0;         ///< bits of a return address that are signature, not address (AArch64)
  std::vector<MemorySlice> roots;     ///< the runtime's roots, read in the same stop (see RootSource), and stacks that
                                      ///< threads have left for an alternate signal stack
  std::chrono::nanoseconds pause{0};  ///< first interrupt to last release; of `together` threads, the longest such time
  /// Summed up over the threads of a capture `together`: how long each was held.
  std::chrono::nanoseconds held{0};
  std::uint32_t threads_not_stopped = 0;
  std::vector<OwnedBytes> storage;  ///< what the slices point into
  /// The mappings of that instant, by address; null where the source does not tell (`Target::regions` does).
  std::shared_ptr<const std::vector<Region>> regions;
  /// Threads that could not stop in time for this instant, each at its own: a busy machine or a CPU quota did not let
  /// them. Complete captures, with their own roots; threads that stopped at the same time are in one. What
  /// `Session::capture` gives has copies of these threads among its own, so that `threads` is all of them.
  std::vector<Capture> late;
};

/// Memory that must be read in the same stop as the stacks: the Thread objects of a runtime. Called while the target
/// is stopped: must be quick, bounded and read only through `memory`. May be called more than once for a capture, the
/// first time while the target runs (what it reads then is fetched again in the stop with one system call, so that
/// following lists costs nothing there); only the last answer counts, so it keeps nothing from call to call.
class RootSource {
 public:
  virtual ~RootSource() = default;
  /// Appends the ranges to copy; they may be found by reading `memory` (list links).
  virtual void collect(const MemoryReader& memory, std::vector<AddressRange>& out) = 0;
};

struct CaptureRequest {
  std::vector<ThreadId> threads;  ///< empty: all; ids of other processes' threads are left out, never touched
  std::chrono::milliseconds stop_timeout{20};  ///< for the instant at which all stand still
  /// For threads that do not stop in that time: until the next comes, and five times as long in all.
  std::chrono::milliseconds late_timeout{2000};
  std::size_t initial_stack_bytes = 64 << 10;
  /// For all threads together, beyond the initial bytes. Only for stacks whose end is known; of others (fibers and
  /// coroutines, whose stacks lie in a mapping with other things) the initial bytes are copied.
  std::size_t stack_byte_budget = 64 << 20;
  RootSource* roots = nullptr;  ///< borrowed; may be null
  bool vectors = false;         ///< floating-point and vector registers, too (of live and debugged processes)
  /// So many threads stand still at the same time, at most, one group after the other: for samples, which need not be
  /// of one instant. The capture is `not_stopped` then, unless there are `roots`, and one group is all of the threads.
  /// 0: all. (Only of live processes.)
  std::size_t together = 0;
  bool goes_on = false;  ///< more of what the last capture was taken for: its budgets are not renewed
  /// False: `comm` may be left empty where that makes the capture shorter; `Target::thread_facts` tells it then.
  bool names = true;
};

/// What ended the process, as its core tells.
struct CrashFacts {
  ThreadId tid = 0;                     ///< the thread that got the signal, 0: unknown
  std::int32_t signal = 0;              ///< its number on Linux, 0: none (a core taken of a running process)
  std::int32_t code = 0;                ///< si_code: what raised it
  std::optional<Address> address;       ///< what was accessed or executed, for signals that say so
  std::optional<std::uint32_t> sender;  ///< the process that sent it, for signals that are sent
};

struct TargetInfo {
  std::uint32_t pid = 0;
  Arch arch = Arch::unknown;
  std::string executable;  ///< path as the target sees it
  std::vector<std::string> command_line;
  Address entry_point = 0;      ///< AT_ENTRY, 0 when unknown
  Address program_headers = 0;  ///< AT_PHDR
  Address vdso = 0;             ///< AT_SYSINFO_EHDR
  std::uint64_t page_size = 4096;
  std::string core_path;            ///< the core file this is; empty for a process
  std::string comm;                 ///< the kernel's short name, where the source has it
  std::optional<CrashFacts> crash;  ///< only of cores
};

/// Bytes of a file-backed image. Shared by everything that points into it. Bytes that were handed out once never
/// change, whatever happens to the file, and touching them cannot fault (object/file_bytes.h says how).
class FileBytes {
 public:
  virtual ~FileBytes() = default;
  /// All of the file: reads all of it. Readers of big files ask for `range`.
  [[nodiscard]] virtual std::span<const std::byte> bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t size() const { return bytes().size(); }
  /// `size` bytes at `offset`; empty when the file does not hold (or no longer holds) all of them.
  [[nodiscard]] virtual std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const {
    const auto all = bytes();
    if (offset > all.size() || all.size() - offset < size) return {};
    return all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
  }
  /// Copies bytes from `offset` on without keeping them, for those who read a file once from end to end; answers how
  /// many, fewer only where the file ends or cannot be read. They may be of another time than what `range` gave.
  [[nodiscard]] virtual std::size_t copy(std::uint64_t offset, std::span<std::byte> out) const {
    if (offset >= size()) return 0;
    const auto some = range(offset, size() - offset < out.size() ? size() - offset : out.size());
    if (!some.empty()) std::memcpy(out.data(), some.data(), some.size());
    return some.size();
  }
};

/// What the kernel tells of one thread beside its registers. What it does not tell is not there.
struct ThreadFacts {
  std::optional<std::chrono::nanoseconds> cpu;     ///< time on a processor since it began
  std::optional<std::chrono::nanoseconds> queued;  ///< time it was ready to run and did not
  /// Time of all threads of the process, those that ended, too, when all threads were back in their calls after the
  /// stop and before `cpu` of any was read: as long as it stays the same, none has run since.
  std::optional<std::chrono::nanoseconds> process_cpu;
  /// How long it had not run when it was stopped. Every stop makes a thread run: of one that we stopped before and that
  /// waits still, it is the time since then.
  std::optional<std::chrono::nanoseconds> off_cpu;
  std::string wait_channel;  ///< the function of the kernel that it waits in; empty: runs, or nobody may know
  /// Arguments of the system call it was captured in, if it still is in that call. Not given for calls that ended.
  std::optional<std::array<std::uint64_t, 6>> arguments;
  std::optional<std::int32_t> fd;  ///< the file descriptor that the call is about
  /// What that is: "tcp 10.0.0.1:443 -> 10.0.0.9:51012", "pipe", "epoll of 12 files", "/var/lib/data.db"; or the path
  /// of a file that is being opened; "futex 0x7f12a0001234". As the system has it: not escaped.
  std::string object;
  std::string comm;  ///< its name, where the capture has left it out
};

/// What the kernel tells of a running process as a whole. What it does not tell is not there.
struct ProcessUsage {
  std::optional<std::chrono::nanoseconds> cpu;     ///< processor time since it began
  std::optional<std::chrono::nanoseconds> uptime;  ///< since it began
  /// Processors it kept busy over the last `interval` in which it could run: 1.9 of two threads that compute.
  std::optional<double> busy;
  std::chrono::nanoseconds interval{0};
  std::uint64_t resident_bytes = 0;  ///< memory of it that is in use now; 0: not known
  std::string container;             ///< id of its container, 12 digits; empty: none known
};

/// A source of process state.
class Target {
 public:
  virtual ~Target() = default;
  [[nodiscard]] virtual const TargetInfo& info() const = 0;
  /// The memory as it is now (a live process runs on; use the capture's slices for what must belong together).
  [[nodiscard]] virtual const MemoryReader& memory() const = 0;
  /// The same for constants: where a core lacks a page of an image, this reader gives what the loader made of the file,
  /// even if the program may have written there since. Only for data that is known never to change.
  [[nodiscard]] virtual const MemoryReader& loaded_memory() const { return memory(); }
  [[nodiscard]] virtual Result<std::vector<ThreadId>> threads() const = 0;
  [[nodiscard]] virtual Result<std::vector<Region>> regions() const = 0;
  /// The file behind a mapping, through the target's own root, even if deleted or replaced.
  [[nodiscard]] virtual Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const = 0;
  /// Whether `open_file` answers the very file that is mapped (by device and inode), or fails. Then the file is what
  /// tells about an image: memory may hold another library by the time it is read.
  [[nodiscard]] virtual bool proves_files() const { return false; }
  /// A file by path as the target sees it (debug files beside an image).
  [[nodiscard]] virtual Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const = 0;
  /// The primitive: the state of threads at one instant. The target runs again when this returns.
  [[nodiscard]] virtual Result<Capture> capture(const CaptureRequest& request) = 0;
  /// What was found wrong with the source itself so far: files that are missing or do not match, a core that was cut
  /// off. Grows as things are asked for.
  [[nodiscard]] virtual std::vector<Diagnosis> diagnoses() const { return {}; }
  /// Of threads that were captured, in their order, as the kernel tells it now, while the target runs; empty where
  /// nothing can be told (cores).
  [[nodiscard]] virtual std::vector<ThreadFacts> thread_facts(std::span<const ThreadCapture> /*threads*/) const {
    return {};
  }
  /// Called before a capture of these threads (none: all) whose `thread_facts` will be asked for: what the stop changes
  /// is looked at now. `off_cpu`: how long threads have not run, and where in the kernel they wait, will be told.
  virtual void prepare_thread_facts(std::span<const ThreadId> /*threads*/, bool /*off_cpu*/) {}
  /// The process as a whole, since the last call or since it was opened; `stopped` of that time it could not run.
  /// Nothing where nothing can be told (cores).
  [[nodiscard]] virtual std::optional<ProcessUsage> usage(std::chrono::nanoseconds /*stopped*/) { return std::nullopt; }
};

/// How threads of our own process, other than the calling one, are captured. Neither way is used unless asked for.
enum class OwnThreads : std::uint8_t {
  calling_only,  ///< the others are listed with the error `unsupported`
  by_signal,     ///< each runs a handler, installed for the time of a capture, that copies its registers and stack
  by_helper,     ///< a child process stops and captures us as it would any other process
};

struct SelfOptions {
  OwnThreads others = OwnThreads::calling_only;
  int signal = 0;                                  ///< for `by_signal`: one that nobody else uses
  std::chrono::milliseconds helper_timeout{5000};  ///< for `by_helper`, in all
};

}  // namespace mixstack
