// Input: a process, its CPU and PerfOptions. Output: its samples and notices by time, and counts of lost records.
// Algorithm: 1. settle_plan opens one event of one thread and drops what this kernel refuses: all events have one
// layout then. 2. open_all lists the threads and opens one event for each thread and processor (by_events: threads that
// begin later inherit them) or, if that needs too many files, one event and ring for each thread (by_proc). It lists
// again until no thread is new. If a ring may not be locked, it begins again with rings half as large, since an event's
// wakeup is set for its ring. 3. drain merges the rings by time, oldest record first. It leaves records younger than
// kSettleNs, since an older one may come from another processor, and drops those that another event reports, too
// (is_repeated). 4. close_ended (by_proc) closes the events of ended threads once their rings are empty.
// Bounds: kListings listings; files below base::end_of_thread_files(); rings from kLeastRing to kLargestRing, aiming at
// kMostOfAllRings in all, or kThreadRing each (by_proc), unless PerfOptions sets their size; `most` records a drain.
#include "process/perf/perf_sampler.h"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>
#include <ctime>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <queue>

#include "base/system/file_limit.h"
#include "process/perf/kernel_files.h"
#include "process/perf/sample_registers.h"

namespace mixstack::perf {
namespace {

constexpr std::size_t kMostOfAllRings = 64 << 20;
constexpr std::size_t kLargestRing = 8 << 20;
/// Room for two samples, whatever their stacks.
constexpr std::size_t kLeastRing = 128 << 10;
/// With one ring for each thread, most of which stay empty.
constexpr std::size_t kThreadRing = 256 << 10;
constexpr int kListings = 5;  // of threads that begin while we open events of others

std::uint64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Room for a fifth of a second; the reader is woken at a quarter of it.
std::size_t ring_bytes_for(const PerfOptions& options, std::size_t rings) {
  if (options.ring_bytes != 0) return std::bit_floor(options.ring_bytes);
  const std::uint64_t rate = std::uint64_t{options.hertz} * (options.stack_bytes + kMostBesideStack / 4);
  std::size_t bytes = std::bit_ceil(static_cast<std::size_t>(rate / 5));
  bytes = std::clamp(bytes, kLeastRing, kLargestRing);
  while (bytes > kLeastRing && bytes * rings > kMostOfAllRings) bytes /= 2;
  return bytes;
}

/// Events are files: raises our soft limit if it is too low for so many.
bool may_open(std::uint64_t files) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  const std::uint64_t wanted = base::limit_for_thread_files(files);
  if (limit.rlim_cur >= wanted) return true;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= wanted;
}

}  // namespace

Result<PerfSampler> PerfSampler::open(std::uint32_t pid, Arch arch, const PerfOptions& options) {
  if (options.hertz == 0) return fail(ErrorCode::invalid_argument);
  if (sample_registers(arch).mask == 0) return fail(ErrorCode::unsupported_cpu);
  PerfSampler sampler(pid, options);
  // A rate above this is refused.
  if (const auto most = number_in("/proc/sys/kernel/perf_event_max_sample_rate"); most && *most > 0)
    sampler.options_.hertz = static_cast<std::uint32_t>(std::min<std::int64_t>(sampler.options_.hertz, *most));
  const auto threads = threads_of(pid);
  if (!threads) return fail(threads.error());
  sampler.cpus_ = online_cpus();
  if (auto planned = sampler.settle_plan(arch, *threads); !planned) return fail(planned.error());
  if (!may_open(sampler.cpus_.size() * (threads->size() + threads->size() / 4))) sampler.use_by_proc();
  sampler.end_of_files_ = base::end_of_thread_files();
  auto opened = sampler.open_all();
  if (!opened && opened.error().code == ErrorCode::limit_exceeded && sampler.following_ == Following::by_events) {
    sampler.use_by_proc();
    opened = sampler.open_all();
  }
  if (!opened && opened.error().code == ErrorCode::limit_exceeded)
    return fail(ErrorCode::limit_exceeded, base::limit_for_thread_files(threads->size()), opened.error().os_error);
  if (!opened) return fail(opened.error());
  return sampler;
}

/// Tries the plan with an event of one thread, which is closed again, and drops wishes that this kernel refuses.
Result<void> PerfSampler::settle_plan(Arch arch, const std::vector<ThreadId>& threads) {
  const EventPlan best = best_plan(options_);
  plan_ = best;
  if (!plan_.inherits) following_ = Following::by_proc;
  std::size_t next = 0;
  for (;;) {
    shape_ = make_shape(arch, options_, plan_);
    const auto tried = open_event(make_attributes(options_, plan_, shape_, kLeastRing), threads[next], -1);
    if (tried) break;
    const bool has_gone = tried.error().code == ErrorCode::no_such_thread;
    if (has_gone && ++next == threads.size()) return fail(ErrorCode::no_such_process, pid_, ESRCH);
    const bool is_refused =
        options_.sampled == Sampled::tracepoint && tried.error().code == ErrorCode::permission_denied;
    if (!has_gone && (is_refused || !weaken(plan_, best, tried.error().os_error))) return fail(tried.error());
  }
  reader_ = RecordReader(shape_);
  return {};
}

void PerfSampler::close_all() {
  events_.clear();
  rings_.clear();
  ring_owners_.clear();
  opened_.clear();
  source_of_event_.clear();
  source_of_thread_.clear();
}

void PerfSampler::use_by_proc() {
  close_all();
  following_ = Following::by_proc;
  plan_.inherits = false;
}

/// Opens all events with the largest rings that may be locked for all of them. The wakeup of an event is set for the
/// size of its ring: with a smaller ring it would come too late, so all events are opened again.
Result<void> PerfSampler::open_all() {
  epoll_ = base::ScopedFd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return fail(ErrorCode::limit_exceeded, 0, errno);
  const bool by_proc = following_ == Following::by_proc;
  auto threads = threads_of(pid_);
  if (!threads) return fail(threads.error());
  wanted_ring_bytes_ = ring_bytes_for(options_, by_proc ? threads->size() : cpus_.size());
  if (by_proc && options_.ring_bytes == 0) wanted_ring_bytes_ = std::min(wanted_ring_bytes_, kThreadRing);
  for (;; wanted_ring_bytes_ /= 2) {
    attributes_ = make_attributes(options_, plan_, shape_, wanted_ring_bytes_);
    least_ring_bytes_ = wanted_ring_bytes_;
    const auto opened = open_listed(*threads);
    least_ring_bytes_ = kLeastRing;
    const bool is_for_the_ring = is_ring_refused_ && wanted_ring_bytes_ > kLeastRing;
    if (opened || !is_for_the_ring) return opened;
    is_ring_refused_ = false;
    close_all();
  }
}

/// Lists until no thread is new: a thread in no listing began later, and inherits the events of its maker.
Result<void> PerfSampler::open_listed(std::vector<ThreadId> threads) {
  for (int i = 0; i < kListings; i++) {
    std::size_t added = 0;
    for (const ThreadId tid : threads) {
      if (opened_.contains(tid)) continue;
      const auto opened = open_thread(tid);
      if (!opened && opened.error().code == ErrorCode::no_such_thread) continue;
      if (!opened) return fail(opened.error());
      added++;
    }
    if (added == 0) break;
    auto now = threads_of(pid_);
    if (!now) return fail(now.error());
    threads = std::move(*now);
  }
  if (events_.empty()) return fail(ErrorCode::no_such_process, pid_, ESRCH);
  return {};
}

Result<void> PerfSampler::open_thread(ThreadId tid) {
  if (following_ == Following::by_proc) {
    const auto event = add_event(tid, -1);
    if (!event) return fail(event.error());
    if (auto ring = add_ring(*event); !ring) {
      drop_last_event();  // each event has a ring here, at the same place of its list
      return fail(ring.error());
    }
  } else {
    for (std::size_t i = 0; i < cpus_.size(); i++) {
      const auto event = add_event(tid, cpus_[i]);
      if (!event) return fail(event.error());
      // One ring for each processor, made for the first thread's event: all events there write into it.
      if (i >= rings_.size()) {
        if (auto ring = add_ring(*event); !ring) return fail(ring.error());
      } else if (::ioctl(*event, PERF_EVENT_IOC_SET_OUTPUT, ring_owners_[i]) != 0) {
        return fail(ErrorCode::io_error, tid, errno);
      }
    }
  }
  opened_.insert(tid);
  source_of_thread_[tid] = tid;
  return {};
}

Result<int> PerfSampler::add_event(ThreadId tid, int cpu) {
  auto event = open_event(attributes_, tid, cpu);
  if (!event) return fail(event.error());
  const int fd = event->get();
  if (static_cast<std::uint64_t>(fd) >= end_of_files_) return fail(ErrorCode::limit_exceeded, 0, EMFILE);
  std::uint64_t id = 0;
  if (::ioctl(fd, PERF_EVENT_IOC_ID, &id) != 0) return fail(ErrorCode::io_error, tid, errno);
  if (!options_.filter.empty() && ::ioctl(fd, PERF_EVENT_IOC_SET_FILTER, options_.filter.c_str()) != 0)
    return fail(ErrorCode::io_error, tid, errno);
  if (is_started_) ::ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
  source_of_event_[id] = tid;
  events_.push_back({std::move(*event), id});
  return fd;
}

void PerfSampler::drop_last_event() {
  source_of_event_.erase(events_.back().id);
  events_.pop_back();
}

Result<void> PerfSampler::add_ring(int event) {
  auto ring = PerfRing::map(event, wanted_ring_bytes_, least_ring_bytes_);
  if (!ring) {
    is_ring_refused_ = ring.error().code == ErrorCode::permission_denied;
    return fail(ring.error());
  }
  epoll_event interest{};
  // Edge-triggered: the event of an ended thread hangs up, and would stay readable for ever.
  interest.events = EPOLLIN | EPOLLET;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, event, &interest) != 0) return fail(ErrorCode::io_error, 0, errno);
  rings_.push_back(std::move(*ring));
  ring_owners_.push_back(event);
  return {};
}

void PerfSampler::start() {
  is_started_ = true;
  for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_ENABLE, 0);
}

void PerfSampler::stop() {
  is_started_ = false;
  for (const Event& event : events_) ::ioctl(event.fd.get(), PERF_EVENT_IOC_DISABLE, 0);
}

std::size_t PerfSampler::follow_threads() {
  if (following_ != Following::by_proc) return 0;
  std::size_t added = 0;
  const auto threads = threads_of(pid_);
  for (const ThreadId tid : threads ? *threads : std::vector<ThreadId>())
    if (!opened_.contains(tid) && open_thread(tid)) added++;
  return added;
}

std::size_t PerfSampler::drain(PerfVisitor& visitor, std::size_t most, Until until) {
  epoll_event ignored;
  (void)::epoll_wait(epoll_.get(), &ignored, 1, 0);
  const std::uint64_t latest = until == Until::empty ? UINT64_MAX : monotonic_ns() - kSettleNs;
  using Next = std::pair<std::uint64_t, std::size_t>;  // time, ring
  std::priority_queue<Next, std::vector<Next>, std::greater<>> queue;
  for (std::size_t i = 0; i < rings_.size(); i++) {
    rings_[i].look();
    if (!rings_[i].is_empty()) queue.emplace(rings_[i].first_time(), i);
  }
  std::size_t count = 0;
  while (!queue.empty() && count < most && queue.top().first <= latest) {
    PerfRing& ring = rings_[queue.top().second];
    const std::size_t at = queue.top().second;
    queue.pop();
    const auto record = ring.first();
    if (record.empty()) continue;
    visit(record, visitor);
    count++;
    ring.drop_first(record.size());
    if (!ring.is_empty()) queue.emplace(ring.first_time(), at);
  }
  close_ended();
  return count;
}

void PerfSampler::visit(std::span<const std::byte> record, PerfVisitor& visitor) {
  const auto origin = origin_of(record);
  const auto read = reader_.read(record);
  if (!origin || !read) {
    unreadable_++;
    return;
  }
  if (is_repeated(*origin)) return;
  if (const auto* sample = std::get_if<PerfSample>(&*read)) {
    visitor.sample(*sample);
  } else if (const auto* notice = std::get_if<PerfNotice>(&*read)) {
    note(*notice, *origin);
    visitor.notice(*notice);
  }
}

/// Whether another event that counts for this thread reports the same.
bool PerfSampler::is_repeated(const RecordOrigin& origin) const {
  const auto thread = source_of_thread_.find(origin.tid);
  const auto event = source_of_event_.find(origin.event);
  return thread != source_of_thread_.end() && event != source_of_event_.end() && thread->second != event->second;
}

void PerfSampler::note(const PerfNotice& notice, const RecordOrigin& origin) {
  if (notice.kind == PerfNotice::Kind::lost) lost_noticed_ += notice.count;
  const auto event = source_of_event_.find(origin.event);
  if (notice.kind == PerfNotice::Kind::thread_began && event != source_of_event_.end() && !opened_.contains(notice.tid))
    source_of_thread_[notice.tid] = event->second;
  if (notice.kind == PerfNotice::Kind::thread_ended) {
    source_of_thread_.erase(notice.tid);
    opened_.erase(notice.tid);
    if (following_ == Following::by_proc) ended_.insert(origin.event);
  }
}

void PerfSampler::wait(std::chrono::milliseconds most) {
  epoll_event ignored;
  (void)::epoll_wait(epoll_.get(), &ignored, 1, static_cast<int>(std::clamp<std::int64_t>(most.count(), 0, 1 << 30)));
}

std::uint64_t PerfSampler::lost() const {
  if (!plan_.tells_lost) return lost_noticed_;
  std::uint64_t all = lost_by_ended_;
  for (const Event& event : events_) all += lost_of(event);
  return std::max(all, lost_noticed_);
}

std::uint64_t PerfSampler::lost_of(const Event& event) const {
  std::uint64_t values[2] = {};  // count, lost (PERF_FORMAT_LOST)
  if (!plan_.tells_lost || ::read(event.fd.get(), values, sizeof values) != sizeof values) return 0;
  return values[1];
}

/// Each thread has one event and its ring here: once its thread has ended, an empty ring stays empty.
void PerfSampler::close_ended() {
  for (std::size_t i = 0; i < events_.size() && !ended_.empty();) {
    if (!ended_.contains(events_[i].id) || !rings_[i].is_empty()) {
      i++;
      continue;
    }
    lost_by_ended_ += lost_of(events_[i]);
    ended_.erase(events_[i].id);
    source_of_event_.erase(events_[i].id);
    const auto at = static_cast<std::ptrdiff_t>(i);
    rings_.erase(rings_.begin() + at);
    ring_owners_.erase(ring_owners_.begin() + at);
    events_.erase(events_.begin() + at);
  }
}

std::size_t PerfSampler::short_ring_bytes() const {
  const bool by_proc = following_ == Following::by_proc;
  const std::size_t wanted = ring_bytes_for(options_, by_proc ? opened_.size() : cpus_.size());
  return wanted_ring_bytes_ < std::min(wanted, by_proc ? kThreadRing : wanted) ? wanted_ring_bytes_ : 0;
}

std::size_t PerfSampler::ring_bytes() const {
  std::size_t all = 0;
  for (const PerfRing& ring : rings_) all += ring.bytes();
  return all;
}

std::string PerfSampler::what() const {
  std::string words = plan_.hardware ? "hardware cycles" : "software CPU clock";
  if (options_.sampled == Sampled::page_faults) words = "page faults";
  if (options_.sampled == Sampled::tracepoint) words = "system calls";
  if (options_.sampled == Sampled::nothing) words = "notices";
  words += ", ";
  words += plan_.counts_kernel ? "user and kernel time" : "user time only";
  words += following_ == Following::by_events ? ", new threads inherit" : ", new threads by /proc";
  return words;
}

}  // namespace mixstack::perf
