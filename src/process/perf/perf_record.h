// Records of a perf ring, from bytes to data: samples of threads, and what happened to threads and mappings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack::perf {

/// How the records of some events are laid out; must be what these were opened with (`make_attributes`).
struct RecordShape {
  Arch arch = Arch::unknown;
  std::uint64_t registers = 0;    ///< perf_event_attr.sample_regs_user
  std::uint32_t stack_bytes = 0;  ///< perf_event_attr.sample_stack_user
  bool kernel_chain = false;      ///< PERF_SAMPLE_CALLCHAIN, of the kernel alone
  std::uint64_t period = 0;       ///< of all samples; 0: each tells its own (PERF_SAMPLE_PERIOD)
  bool addresses = false;         ///< PERF_SAMPLE_ADDR
  bool raw = false;               ///< PERF_SAMPLE_RAW
};

/// A thread when one of its events reached the sample period. Bytes and addresses are borrowed from the ring and the
/// RecordReader.
struct PerfSample {
  std::uint64_t event = 0;  ///< the kernel's id of the event that we opened; threads that inherited it have the same
  ThreadId pid = 0, tid = 0;
  std::uint64_t time_ns = 0;  ///< CLOCK_MONOTONIC
  std::uint64_t period = 0;   ///< how much it stands for: nanoseconds or cycles
  std::uint32_t cpu = 0;
  bool in_kernel =
      false;              ///< was in the kernel, in a system call or a fault; the rest is of its user code all the same
  bool has_user = false;  ///< registers are there; not of a thread that has given its memory back (it ends)
  Registers user;
  Address stack_base = 0;                 ///< sp: the red zone is not copied
  std::span<const std::byte> stack;       ///< ends early where the stack does, or a page of it is not in memory
  bool stack_truncated = false;           ///< it is as long as was asked for
  std::span<const Address> kernel_chain;  ///< where the thread was in the kernel, innermost first
  Address address = 0;                    ///< of a page fault: what was touched
  std::span<const std::byte> raw;         ///< fields of a tracepoint, as its format file has them
};

/// An event of a thread, of the process, or of the stream of records.
struct PerfNotice {
  enum class Kind : std::uint8_t {
    thread_began,  ///< `tid` of `pid`, made by `parent`; another pid than its parent's: a process
    thread_ended,
    renamed,    ///< `text` is the thread's name
    executed,   ///< the process is another program now; `text` as above
    mapped,     ///< code was mapped: `range`, `file_offset`, `device_*`, `inode`, `text` the path
    lost,       ///< `count` records had no room in a ring
    throttled,  ///< the kernel takes no more samples of an event in this tick: too many
    unthrottled,
  };
  Kind kind = Kind::lost;
  std::uint64_t event = 0;
  ThreadId pid = 0, tid = 0, parent_pid = 0, parent = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t count = 0;
  AddressRange range;
  std::uint64_t file_offset = 0, inode = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  std::string_view text;  ///< as the kernel has it, not escaped; borrowed
};

/// A record of a kind that we do not report.
struct NothingTold {};
using PerfRecord = std::variant<NothingTold, PerfSample, PerfNotice>;

/// The thread that was running when a record was written, and through which of the events we opened.
struct RecordOrigin {
  ThreadId tid = 0;
  std::uint64_t event = 0;
};

/// Reads records. Not thread-safe; allocates for nothing but kernel chains, once.
class RecordReader {
 public:
  RecordReader() = default;
  explicit RecordReader(const RecordShape& shape) : shape_(shape) {}
  /// A whole record with its header. Errors: `truncated`, `malformed`.
  [[nodiscard]] Result<PerfRecord> read(std::span<const std::byte> record);

 private:
  [[nodiscard]] Result<PerfRecord> read_sample(std::span<const std::byte> record, bool in_kernel);
  RecordShape shape_;
  std::vector<Address> chain_;
};

/// When a record was written, read from its header and fixed offsets, so cheap. Nothing: too short.
[[nodiscard]] std::optional<std::uint64_t> time_of(std::span<const std::byte> record);
[[nodiscard]] std::optional<RecordOrigin> origin_of(std::span<const std::byte> record);

/// No record is longer (perf_event_header.size has 16 bits), none shorter than its header.
inline constexpr std::size_t kMostRecordBytes = 65535, kHeaderBytes = 8;
/// The most bytes of a sample beside its stack (48 registers, 127 kernel addresses).
inline constexpr std::size_t kMostBesideStack = 2048;
/// The largest stack copy: a sample with all else stays below `kMostRecordBytes`; in steps of 8.
inline constexpr std::uint32_t kMostStackBytes = 65528 - kMostBesideStack;

}  // namespace mixstack::perf
