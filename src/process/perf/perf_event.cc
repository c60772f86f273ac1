#include "process/perf/perf_event.h"

#include <sys/syscall.h>
#include <unistd.h>
#include <ctime>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "process/perf/sample_registers.h"

namespace mixstack::perf {
namespace {

/// Whether there are several kinds of cores: big and little cores have counters of their own, and an event that counts
/// cycles of one kind is silent on the others (Documentation: perf list, "hybrid"; arm_pmu). Each lists its processors
/// in `cpus`.
bool has_several_core_counters() {
  std::error_code error;
  std::size_t found = 0;
  std::filesystem::directory_iterator at("/sys/bus/event_source/devices", error);
  for (const std::filesystem::directory_iterator end; !error && at != end; at.increment(error))
    if (std::error_code missing; std::filesystem::exists(at->path() / "cpus", missing)) found++;
  return found > 1;
}

std::uint64_t software_event(Sampled sampled) {
  switch (sampled) {
    case Sampled::page_faults:
      return PERF_COUNT_SW_PAGE_FAULTS;
    case Sampled::nothing:
      return PERF_COUNT_SW_DUMMY;
    case Sampled::tracepoint:
    case Sampled::cpu:
      break;
  }
  return PERF_COUNT_SW_CPU_CLOCK;
}

ErrorCode code_of(int error) {
  switch (error) {
    case ESRCH:
      return ErrorCode::no_such_thread;
    case EACCES:
    case EPERM:
      return ErrorCode::permission_denied;
    case EMFILE:
    case ENFILE:
      return ErrorCode::limit_exceeded;
    case ENOSYS:
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return ErrorCode::unsupported;
    case EINVAL:
      return ErrorCode::invalid_argument;
    default:
      return ErrorCode::io_error;
  }
}

}  // namespace

EventPlan best_plan(const PerfOptions& options) {
  EventPlan plan;
  plan.hardware = options.sampled == Sampled::cpu && options.hardware && !has_several_core_counters();
  plan.kernel_chain = options.kernel;
  plan.threads_only = !options.inherit_children;
  plan.inherits = options.follow_by_events;
  return plan;
}

bool weaken(EventPlan& plan, const EventPlan& best, int error) {
  if (error == EACCES || error == EPERM) {
    if (!plan.counts_kernel) return false;
    plan.counts_kernel = plan.kernel_chain = false;
    return true;
  }
  const bool is_no_counter = error == ENOENT || error == ENODEV || error == EOPNOTSUPP;
  if (!is_no_counter && error != EINVAL) return false;
  if (!is_no_counter) {
    // EINVAL does not tell which field the kernel does not know: drop the newest first.
    for (bool* wish : {&plan.tells_lost, &plan.threads_only, &plan.all_registers})
      if (std::exchange(*wish, false)) return true;
  }
  if (!plan.hardware) return false;
  const EventPlan refused = plan;
  plan = best;
  plan.hardware = false;
  plan.counts_kernel = refused.counts_kernel;
  plan.kernel_chain = refused.kernel_chain;
  return true;
}

RecordShape make_shape(Arch arch, const PerfOptions& options, const EventPlan& plan) {
  const SampleRegisters& registers = sample_registers(arch);
  RecordShape shape;
  shape.arch = arch;
  shape.registers = registers.mask | (plan.all_registers ? registers.optional : 0);
  shape.stack_bytes = std::min(options.stack_bytes, kMostStackBytes) & ~7u;
  shape.kernel_chain = plan.kernel_chain;
  shape.period = options.period;
  shape.addresses = options.addresses;
  shape.raw = options.sampled == Sampled::tracepoint;
  return shape;
}

perf_event_attr make_attributes(const PerfOptions& options, const EventPlan& plan, const RecordShape& shape,
                                std::size_t ring_bytes) {
  perf_event_attr a{};
  a.size = sizeof a;
  a.type = plan.hardware ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
  a.config = plan.hardware ? std::uint64_t{PERF_COUNT_HW_CPU_CYCLES} : software_event(options.sampled);
  if (options.sampled == Sampled::tracepoint) {
    a.type = PERF_TYPE_TRACEPOINT;
    a.config = options.tracepoint;
  }
  if (options.period != 0) {
    a.sample_period = options.period;
  } else if (options.sampled != Sampled::nothing) {
    a.freq = 1;
    a.sample_freq = options.hertz;
  }
  // The order of fields is that of read_sample in perf_record.cc.
  a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER;
  // Samples of a fixed period that tell it are taken of each event (perf_swevent_event in kernel/events/core.c).
  if (shape.period == 0) a.sample_type |= PERF_SAMPLE_PERIOD;
  if (shape.stack_bytes != 0) a.sample_type |= PERF_SAMPLE_STACK_USER;
  if (shape.kernel_chain) a.sample_type |= PERF_SAMPLE_CALLCHAIN;
  if (shape.addresses) a.sample_type |= PERF_SAMPLE_ADDR;
  if (shape.raw) a.sample_type |= PERF_SAMPLE_RAW;
  a.sample_regs_user = shape.registers;
  a.sample_stack_user = shape.stack_bytes;
  a.exclude_callchain_user = 1;
  a.exclude_kernel = plan.counts_kernel ? 0 : 1;
  a.exclude_hv = 1;
  a.sample_id_all = 1;
  a.disabled = 1;
  a.inherit = plan.inherits ? 1 : 0;
  a.inherit_thread = plan.inherits && plan.threads_only ? 1 : 0;
  a.task = 1;
  a.comm = 1;
  a.comm_exec = 1;
  a.mmap = 1;
  a.mmap2 = 1;
  a.use_clockid = 1;
  a.clockid = CLOCK_MONOTONIC;
  a.watermark = 1;
  a.wakeup_watermark = static_cast<std::uint32_t>(std::min<std::size_t>(ring_bytes / 4, 1u << 30));
  if (plan.tells_lost) a.read_format = PERF_FORMAT_LOST;
  return a;
}

Result<base::ScopedFd> open_event(const perf_event_attr& attributes, ThreadId tid, int cpu) {
  const long fd = ::syscall(SYS_perf_event_open, &attributes, static_cast<pid_t>(tid), cpu, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return fail(code_of(errno), tid, errno);
  return base::ScopedFd(static_cast<int>(fd));
}

}  // namespace mixstack::perf
