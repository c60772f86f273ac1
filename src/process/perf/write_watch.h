// A thread is sampled each time it writes one of a few words: hardware breakpoints, which are the kernel's. Nothing is
// written to the process, and it is not stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"
#include "process/perf/perf_event.h"
#include "process/perf/perf_record.h"
#include "process/perf/perf_ring.h"

namespace mixstack::perf {

/// Each word takes one debug register of the thread (x86-64 has four) until this is destroyed. Switched off at first.
/// Not thread-safe.
class WriteWatch {
 public:
  static constexpr std::size_t kMostWords = 4;

  struct Options {
    std::uint32_t stack_bytes = 16 << 10;  ///< in the ring each sample takes so much, however short its stack
    std::size_t ring_bytes = 1 << 20;      ///< a power of two
  };
  /// Watches aligned words of 8 bytes; as many of them, from the first on, as debug registers are free. Errors: those
  /// of `open_event` and PerfRing::map; limit_exceeded with ENOSPC: none is free; unsupported_cpu.
  [[nodiscard]] static Result<WriteWatch> open(ThreadId tid, Arch arch, std::span<const Address> words,
                                               const Options& options);

  [[nodiscard]] std::size_t words() const { return events_.size(); }
  void switch_on(std::size_t word);
  void switch_off(std::size_t word);
  /// Counts of a word while it was switched on.
  struct Counts {
    std::uint64_t hits = 0;     ///< the lost ones, too
    std::uint64_t lost = 0;     ///< had no room; 0 where the kernel does not tell (before Linux 6.0)
    std::uint64_t running = 0;  ///< ns that the thread ran meanwhile
  };
  [[nodiscard]] Counts counts(std::size_t word) const;
  /// Hands out all samples since the last call. Their bytes are borrowed during the call only.
  void drain(const std::function<void(std::size_t word, const PerfSample& sample)>& visit);

 private:
  struct Event {
    base::ScopedFd fd;
    std::uint64_t id = 0;
  };
  WriteWatch(PerfRing ring, const RecordShape& shape) : ring_(std::move(ring)), reader_(shape) {}

  std::vector<Event> events_;
  PerfRing ring_;
  RecordReader reader_;
  bool tells_lost_ = false;
};

/// The cost of a hit to the thread that writes (ns), measured on the calling thread: about a microsecond on a machine,
/// tens of them in a virtual machine within another one. Nothing: it may not watch itself. Takes some milliseconds.
[[nodiscard]] std::optional<double> measure_hit_cost(Arch arch);

/// Whether a failed `open` means that all debug registers are taken, by a debugger's watchpoints or other profilers.
[[nodiscard]] bool are_registers_taken(const Error& error);

}  // namespace mixstack::perf
