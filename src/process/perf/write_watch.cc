#include "process/perf/write_watch.h"

#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <variant>

#include "process/perf/sample_registers.h"

namespace mixstack::perf {
namespace {

constexpr std::size_t kLeastRing = 64 << 10;

PerfOptions options_of(const WriteWatch::Options& wanted) {
  PerfOptions options;
  options.sampled = Sampled::nothing;
  options.period = 1;
  options.stack_bytes = wanted.stack_bytes;
  options.hardware = options.follow_by_events = false;
  return options;
}

perf_event_attr attributes_of(const PerfOptions& options, const EventPlan& plan, const RecordShape& shape,
                              std::size_t ring_bytes, Address word) {
  perf_event_attr a = make_attributes(options, plan, shape, ring_bytes);
  a.type = PERF_TYPE_BREAKPOINT;
  a.config = 0;
  a.bp_type = HW_BREAKPOINT_W;
  a.bp_addr = word;
  a.bp_len = HW_BREAKPOINT_LEN_8;
  a.exclude_kernel = 1;
  a.task = a.comm = a.comm_exec = a.mmap = a.mmap2 = 0;
  a.read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return a;
}

}  // namespace

bool are_registers_taken(const Error& error) { return error.os_error == ENOSPC; }

std::optional<double> measure_hit_cost(Arch arch) {
  constexpr int kWrites = 63;
  alignas(8) std::uint64_t word = 0;
  const Address words[] = {reinterpret_cast<Address>(&word)};
  const auto tid = static_cast<ThreadId>(::syscall(SYS_gettid));
  auto watch = WriteWatch::open(tid, arch, words, {});
  if (!watch) return std::nullopt;
  watch->switch_on(0);
  std::array<double, kWrites> took{};
  for (double& one : took) {
    const auto begin = std::chrono::steady_clock::now();
    std::atomic_ref(word).store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    one = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
  }
  watch->switch_off(0);
  if (watch->counts(0).hits < kWrites) return std::nullopt;
  const auto quick = took.begin() + kWrites / 4;  // others may want our processor
  std::nth_element(took.begin(), quick, took.end());
  return *quick;
}

Result<WriteWatch> WriteWatch::open(ThreadId tid, Arch arch, std::span<const Address> words, const Options& wanted) {
  if (sample_registers(arch).mask == 0) return fail(ErrorCode::unsupported_cpu);
  if (words.empty() || words.size() > kMostWords) return fail(ErrorCode::invalid_argument);
  const PerfOptions options = options_of(wanted);
  const EventPlan best = [&] {
    EventPlan plan = best_plan(options);
    plan.counts_kernel = plan.inherits = false;
    return plan;
  }();
  EventPlan plan = best;
  const auto open_word = [&](Address word) -> Result<base::ScopedFd> {
    const RecordShape shape = make_shape(arch, options, plan);
    auto opened = open_event(attributes_of(options, plan, shape, wanted.ring_bytes, word), tid, -1);
    if (!opened && are_registers_taken(opened.error())) return fail(ErrorCode::limit_exceeded, tid, ENOSPC);
    return opened;
  };
  auto first = open_word(words[0]);
  while (!first && !are_registers_taken(first.error()) && weaken(plan, best, first.error().os_error))
    first = open_word(words[0]);
  if (!first) return fail(first.error());
  auto ring = PerfRing::map(first->get(), wanted.ring_bytes, kLeastRing);
  if (!ring) return fail(ring.error());
  WriteWatch watch(std::move(*ring), make_shape(arch, options, plan));
  watch.tells_lost_ = plan.tells_lost;
  const auto add = [&](base::ScopedFd fd) {
    std::uint64_t id = 0;
    if (::ioctl(fd.get(), PERF_EVENT_IOC_ID, &id) != 0) return false;
    if (!watch.events_.empty() && ::ioctl(fd.get(), PERF_EVENT_IOC_SET_OUTPUT, watch.events_[0].fd.get()) != 0)
      return false;
    watch.events_.push_back({std::move(fd), id});
    return true;
  };
  if (!add(std::move(*first))) return fail(ErrorCode::io_error, tid, errno);
  for (const Address word : words.subspan(1)) {
    auto next = open_word(word);
    if (!next || !add(std::move(*next))) break;
  }
  return watch;
}

void WriteWatch::switch_on(std::size_t word) { ::ioctl(events_[word].fd.get(), PERF_EVENT_IOC_ENABLE, 0); }

void WriteWatch::switch_off(std::size_t word) { ::ioctl(events_[word].fd.get(), PERF_EVENT_IOC_DISABLE, 0); }

WriteWatch::Counts WriteWatch::counts(std::size_t word) const {
  std::uint64_t values[4] = {};  // count, time enabled, time running, lost
  const std::size_t size = tells_lost_ ? sizeof values : sizeof values - sizeof values[0];
  if (::read(events_[word].fd.get(), values, size) != static_cast<ssize_t>(size)) return {};
  return {values[0], tells_lost_ ? values[3] : 0, values[2]};
}

void WriteWatch::drain(const std::function<void(std::size_t word, const PerfSample& sample)>& visit) {
  ring_.look();
  while (!ring_.is_empty()) {
    const auto record = ring_.first();
    if (record.empty()) return;  // it was damaged, and all of it dropped
    if (const auto read = reader_.read(record)) {
      if (const auto* sample = std::get_if<PerfSample>(&*read)) {
        const auto at =
            std::find_if(events_.begin(), events_.end(), [&](const Event& e) { return e.id == sample->event; });
        if (at != events_.end()) visit(static_cast<std::size_t>(at - events_.begin()), *sample);
      }
    }
    ring_.drop_first(record.size());
  }
}

}  // namespace mixstack::perf
