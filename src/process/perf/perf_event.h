// Opening a perf event that samples one thread, with as much as this kernel and our rights allow.
#pragma once

#include <linux/perf_event.h>

#include <cstdint>
#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/perf/perf_record.h"

namespace mixstack::perf {

/// The events that a thread's samples are taken of.
enum class Sampled : std::uint8_t {
  cpu,          ///< processor time
  page_faults,  ///< first touches of memory, of all kinds; counted by the kernel, so every machine has them
  tracepoint,   ///< `PerfOptions::tracepoint`; it needs CAP_PERFMON
  nothing,      ///< no samples, only notices
};

struct PerfOptions {
  Sampled sampled = Sampled::cpu;
  std::uint32_t hertz = 999;  ///< samples a second of processor time; no divisor of usual timers
  /// Not 0: a sample each so many, instead of by rate. For page faults: the kernel finds no period for a rate of
  /// theirs, since they come in bursts.
  std::uint64_t period = 0;
  std::uint64_t tracepoint = 0;       ///< its number (`tracepoint_number`)
  std::string filter{};               ///< of its fields, in the kernel's language: "id==9"; empty: all count
  bool addresses = false;             ///< of page faults: what was touched, too
  std::uint32_t stack_bytes = 16384;  ///< of each stack from sp on, at most kMostStackBytes; 0: none
  bool kernel = false;                ///< kernel stacks, too, if permitted
  bool inherit_children = false;      ///< processes that the target forks are sampled, too
  bool hardware = true;               ///< count cycles where the machine can; false: the software clock
  bool follow_by_events = true;       ///< false: `Following::by_proc`, whatever files may be opened
  std::size_t ring_bytes = 0;         ///< of one ring, a power of two; 0: by rate, 64 MiB of all at most
};

/// The event to ask the kernel for: `sampled` and a plan. `weaken` drops a wish when the kernel refuses.
struct EventPlan {
  bool hardware = true;       ///< cycles; else the software clock
  bool counts_kernel = true;  ///< time in the kernel, too
  bool kernel_chain = false;  ///< PerfOptions::kernel
  bool tells_lost = true;     ///< PERF_FORMAT_LOST, Linux 6.0
  bool threads_only = true;   ///< inherit_thread, Linux 5.13; else samples of forked processes come, too
  bool all_registers = true;  ///< the optional ones
  bool inherits = true;
};

/// The plan for a machine that can do everything; cycles only where all processors count them alike.
[[nodiscard]] EventPlan best_plan(const PerfOptions& options);
/// The next best plan after perf_event_open failed with `error`; `best` is the first plan. False: there is none.
[[nodiscard]] bool weaken(EventPlan& plan, const EventPlan& best, int error);

[[nodiscard]] RecordShape make_shape(Arch arch, const PerfOptions& options, const EventPlan& plan);
[[nodiscard]] perf_event_attr make_attributes(const PerfOptions& options, const EventPlan& plan,
                                              const RecordShape& shape, std::size_t ring_bytes);

/// perf_event_open(2) of a thread on one processor, -1: all. Errors: no_such_thread, permission_denied, limit_exceeded
/// (files), unsupported (no such counter, or no perf events at all), invalid_argument; always with os_error.
[[nodiscard]] Result<base::ScopedFd> open_event(const perf_event_attr& attributes, ThreadId tid, int cpu);

}  // namespace mixstack::perf
