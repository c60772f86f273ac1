// Input: a process whose runtimes tell, for each thread, where they write the limit of its room for small objects and
// its bytes of large ones, and how many bytes it has allocated. Output: samples of threads that were just given room,
// with the type of the object that they were making, each of as many bytes as it stands for.
// Algorithm: the kernel's breakpoints on these words tell of each room. A hit costs the thread much more than an
// allocation does, so that threads are watched in short windows, as long as their rates and the measured cost of a hit
// allow (`WindowRule`); one that allocates little is watched all the time. A round: 1. read the counters; choose the
// threads with most bytes; 2. open and close the windows; 3. take the hits; 4. read the types of the new objects from
// the heap, before a collection moves them; 5. read the counters again: where a collection began since step 1, the types
// are dropped; what each thread allocated since its last hit is shared over its hits. Bytes without a hit stay owed
// until the next one, and are reported without a stack when their thread ends, so that all bytes are in the recording.
// Order: rounds of 25 ms, more or less by chance, since programs have rhythms of their own.
// Bounds: kMostWatched threads; kMostListed in all; windows of a round; objects of kMostObjects a round.
#include "features/record/allocation_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>

#include "features/record/target_state.h"
#include "process/perf/kernel_files.h"

namespace mixstack::record {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kIdle = 10 * kSecond;  // a thread that has allocated nothing for so long is not watched
constexpr double kSmallRoom = 8192, kLargeObject = 100e3;  // bytes of a hit, roughly: for rates only
constexpr std::size_t kMostListed = 1 << 14, kMostObjects = 4096, kSmall = 0, kLarge = 1;
constexpr std::uint64_t kNotKnown = UINT64_MAX;

void sleep_until(std::uint64_t ns) {
  timespec at{};
  at.tv_sec = static_cast<time_t>(ns / kSecond);
  at.tv_nsec = static_cast<long>(ns % kSecond);
  (void)::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr);
}

std::vector<std::uint64_t> words_of(const Registers& registers) {
  std::vector<std::uint64_t> words;
  for (unsigned i = 0; i < Registers::kMax; i++)
    if (const auto value = registers.get(i)) words.push_back(*value);
  return words;
}

}  // namespace

AllocationSource::AllocationSource(std::shared_ptr<SharedSession> session, process::ProcDir proc, base::ScopedFd folder)
    : session_(std::move(session)),
      proc_(std::move(proc)),
      folder_(std::move(folder)),
      arch_(session_->session->target().info().arch),
      ends_(proc_.pid()) {}

Result<std::unique_ptr<AllocationSource>> AllocationSource::open(std::shared_ptr<SharedSession> session) {
  const std::uint32_t pid = session->session->target().info().pid;
  auto proc = process::ProcDir::open(pid);
  if (!proc) return fail(proc.error());
  base::ScopedFd folder(::open(("/proc/" + std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return fail(ErrorCode::no_such_process, pid, errno);
  std::unique_ptr<AllocationSource> source(
      new AllocationSource(std::move(session), std::move(*proc), std::move(folder)));
  const auto now = source->look();
  if (!now) return fail(now.error());
  // Whether it may be done at all shows at the first thread.
  Error last{ErrorCode::unsupported};
  for (const AllocatedBytes& one : now->threads) {
    Thread thread;
    thread.tid = source->tid_of(one.os_id);
    thread.limit_at = one.limit_at;
    thread.large_at = one.large_at;
    if (thread.tid == 0 || thread.limit_at == 0) continue;
    const auto tried = source->watch(thread);
    if (tried) return source;
    last = tried.error();
    if (last.code != ErrorCode::no_such_thread) break;
  }
  return fail(last);
}

Result<AllocationSource::Look> AllocationSource::look() {
  Look now;
  const std::lock_guard lock(session_->mutex);
  auto counters = session_->session->counters();
  if (!counters) return fail(counters.error());
  for (RuntimeCounters& runtime : *counters) {
    if (now.threads.size() + runtime.threads.size() > kMostListed) break;
    now.threads.insert(now.threads.end(), runtime.threads.begin(), runtime.threads.end());
    now.collections.push_back(runtime.last ? runtime.last->number : runtime.generations.empty() ? kNotKnown : 0);
  }
  now.at_ns = monotonic_ns();
  return now;
}

/// In the target's pid namespace threads have other numbers than here.
ThreadId AllocationSource::tid_of(std::uint32_t os_id) {
  if (!proc_.in_other_pid_namespace()) return os_id;
  if (const auto known = tids_.find(os_id); known != tids_.end()) return known->second;
  tids_.clear();
  const auto all = perf::threads_of(proc_.pid());
  for (const ThreadId tid : all ? *all : std::vector<ThreadId>()) tids_[proc_.namespace_tid(tid)] = tid;
  return tids_.emplace(os_id, 0).first->second;
}

void AllocationSource::begin(std::uint64_t now_ns) {
  SampleBatch none;
  if (const auto now = look(); now && !now->threads.empty()) note(*now, none);
  for (auto& [key, thread] : threads_)
    for (Word& word : thread.words) (void)word.ledger.take();
  begin_ns_ = now_ns;
}

/// Notes how much threads have allocated, and which ones there are.
void AllocationSource::note(const Look& now, SampleBatch& batch) {
  round_++;
  const bool is_first = noted_ns_ == 0;
  for (const AllocatedBytes& one : now.threads) {
    if (one.limit_at == 0) continue;
    const auto [at, is_new] = threads_.try_emplace(Key{one.thread, one.os_id});
    Thread& thread = at->second;
    if (is_new) {
      thread.tid = tid_of(one.os_id);
      thread.limit_at = one.limit_at;
      thread.large_at = one.large_at;
      thread.comm = name_of_thread(proc_.pid(), thread.tid);
      for (Word& word : thread.words)
        if (!is_first) word.ledger.begin_at_zero();
    }
    thread.round = round_;
    const std::uint64_t totals[] = {one.small, one.large};
    for (std::size_t i = 0; i < std::size(totals); i++) {
      Word& word = thread.words[i];
      const std::uint64_t before = word.ledger.owed();
      word.ledger.total(totals[i]);
      const auto bytes = static_cast<double>(word.ledger.owed() - before);
      if (bytes > 0) thread.allocated_ns = now.at_ns;
      const double seconds = static_cast<double>(now.at_ns - noted_ns_) / 1e9;
      if (!is_first && seconds > 0) word.rate += (bytes / seconds / (i == kSmall ? kSmallRoom : kLargeObject) - word.rate) / 4;
    }
  }
  noted_ns_ = now.at_ns;
  for (auto at = threads_.begin(); at != threads_.end();) {
    if (at->second.round == round_) {
      ++at;
      continue;
    }
    forget(at->second, batch);
    at = threads_.erase(at);
  }
}

/// It has ended.
void AllocationSource::forget(Thread& thread, SampleBatch& batch) {
  for (Word& word : thread.words)
    if (const std::uint64_t bytes = word.ledger.take(); bytes != 0 && begin_ns_ != 0)
      batch.unplaced.push_back({thread.tid, thread.comm, bytes, std::max(begin_ns_, noted_ns_)});
  batch.ended.push_back(thread.tid);
  ends_.forget(thread.tid);
}

Result<void> AllocationSource::watch(Thread& thread) {
  const Address words[] = {thread.limit_at, thread.large_at};
  auto watch = perf::WriteWatch::open(thread.tid, arch_, std::span(words, thread.large_at != 0 ? 2 : 1), {});
  thread.is_refused = !watch;
  if (!watch) {
    if (perf::are_registers_taken(watch.error())) refused_++;
    return fail(watch.error());
  }
  thread.watch.emplace(std::move(*watch));
  for (Word& word : thread.words) word.last = {};
  return {};
}

/// Watches the threads that allocate most, and plans the windows.
void AllocationSource::choose() {
  std::vector<Thread*> wanted;
  for (auto& [key, thread] : threads_) {
    const bool allocates = thread.allocated_ns != 0 && noted_ns_ - thread.allocated_ns < kIdle;
    if (!allocates) thread.watch.reset();
    if (allocates && thread.tid != 0 && !thread.is_refused) wanted.push_back(&thread);
  }
  const auto rate_of = [](const Thread* t) { return t->words[kSmall].rate + t->words[kLarge].rate; };
  if (wanted.size() > kMostWatched) {
    std::nth_element(wanted.begin(), wanted.begin() + kMostWatched, wanted.end(),
                     [&](const Thread* a, const Thread* b) { return rate_of(a) > rate_of(b); });
    for (std::size_t i = kMostWatched; i < wanted.size(); i++) wanted[i]->watch.reset();
    wanted.resize(kMostWatched);
  }
  // Some 2000 samples a second of all threads.
  rule_.most_hits = std::clamp(50.0 / static_cast<double>(std::max<std::size_t>(wanted.size(), 1)), 1.0, 4.0);
  for (Thread* thread : wanted) {
    if (!thread->watch) (void)watch(*thread);
    for (std::size_t i = 0; i < thread->watched(); i++)
      thread->words[i].length = rule_.length(thread->words[i].rate, cost_.ns());
  }
}

void AllocationSource::watch_windows(const std::stop_token& stop) {
  struct Open {
    Thread* thread;
    std::size_t word;
    double length;
    std::uint64_t since_ns;
  };
  std::vector<Open> open;
  for (auto& [key, thread] : threads_)
    for (std::size_t i = 0; i < thread.watched(); i++) {
      Word& word = thread.words[i];
      const bool is_always = word.length >= rule_.round_ns;
      if (!is_always && word.is_on) thread.watch->switch_off(i);
      if (is_always && (!word.is_on || word.last.running == 0)) thread.watch->switch_on(i);
      word.is_on = is_always;
      if (!is_always) open.push_back({&thread, i, word.length, 0});
    }
  std::sort(open.begin(), open.end(), [](const Open& a, const Open& b) { return a.length < b.length; });
  for (Open& one : open) {
    one.thread->watch->switch_on(one.word);
    one.since_ns = monotonic_ns();
  }
  for (const Open& one : open) {
    if (!stop.stop_requested()) sleep_until(one.since_ns + static_cast<std::uint64_t>(one.length));
    one.thread->watch->switch_off(one.word);
  }
}

void AllocationSource::add_hit(Thread& thread, std::size_t word, const perf::PerfSample& sample, SampleBatch& batch) {
  if (sample.time_ns < begin_ns_ || !sample.has_user) return;
  thread.words[word].hits++;
  const auto bytes = sample.stack.first(ends_.fit(sample.tid, sample.stack_base, sample.stack.size()));
  ThreadCapture capture;
  capture.tid = capture.ns_tid = sample.tid;
  capture.comm = thread.comm;
  capture.kernel_state = 'R';
  capture.captured = true;
  capture.registers = sample.user;
  capture.stack = {sample.stack_base, stacks_.keep(batch.capture, bytes)};
  capture.stack_truncated = sample.stack_truncated;
  hits_.push_back({&thread, word, batch.samples.size()});
  if (objects_.size() < kMostObjects) objects_.push_back({words_of(sample.user), word == kLarge});
  batch.threads.push_back(std::move(capture));
  batch.samples.push_back({sample.time_ns, SampleClock::bytes, Activity::running});
}

void AllocationSource::read_hits(SampleBatch& batch) {
  for (auto& [key, one] : threads_) {
    if (!one.watch) continue;
    Thread& thread = one;
    for (Word& word : thread.words) word.hits = 0;
    thread.watch->drain([&](std::size_t word, const perf::PerfSample& sample) { add_hit(thread, word, sample, batch); });
  }
}

void AllocationSource::measure_costs() {
  for (auto& [key, thread] : threads_)
    for (std::size_t i = 0; i < thread.watched(); i++) {
      Word& word = thread.words[i];
      const perf::WriteWatch::Counts now = thread.watch->counts(i);
      lost_ += now.lost - std::min(now.lost, word.last.lost);
      if (!word.is_on && now.running > word.last.running && now.hits > word.last.hits)
        cost_.add(now.running - word.last.running, now.hits - word.last.hits, word.rate);
      word.last = now;
    }
  if (cost_.is_measured()) cost_ns_ = static_cast<std::uint32_t>(cost_.ns());
}

/// `before`: the counters right before the windows. Those who are watched all the time may have been hit earlier: their
/// types are read as well, and hold if no collection began since the last round.
void AllocationSource::name_types(SampleBatch& batch, const Look& before) {
  if (objects_.empty()) return;
  auto types = [&] {
    const std::lock_guard lock(session_->mutex);
    return session_->session->new_object_types(objects_);
  }();
  const auto after = look();
  if (!types || !after) return;
  const auto is_known = [](std::uint64_t number) { return number != kNotKnown; };
  const bool is_same = after->collections == before.collections &&
                       std::all_of(after->collections.begin(), after->collections.end(), is_known);
  for (std::size_t i = 0; is_same && i < types->size(); i++) batch.samples[hits_[i].at].type = std::move((*types)[i]);
}

void AllocationSource::weigh(SampleBatch& batch) {
  std::map<std::pair<const Thread*, std::size_t>, std::uint32_t> shares;
  for (const Hit& hit : hits_) {
    const auto [share, is_new] = shares.try_emplace({hit.thread, hit.word}, 0);
    Word& word = hit.thread->words[hit.word];
    if (is_new) share->second = word.ledger.share(word.hits);
    batch.samples[hit.at].weight = share->second;
  }
}

Result<SampleBatch> AllocationSource::next(const std::stop_token& stop) {
  if (next_ns_ != 0 && !stop.stop_requested()) sleep_until(next_ns_);
  const std::uint64_t began = monotonic_ns();
  SampleBatch batch;
  stacks_.begin();
  batch.capture.arch = arch_;
  batch.capture.consistency = Consistency::not_stopped;
  if (begin_ns_ != 0) turn_.want(true);
  const auto before = look();
  if (!before || before->threads.empty()) {
    next_ns_ = began + static_cast<std::uint64_t>(rule_.round_ns);
    if (has_ended(folder_)) return fail(ErrorCode::no_such_process);
    return batch;
  }
  note(*before, batch);
  choose();
  const std::uint64_t opened = monotonic_ns();
  watch_windows(stop);
  const std::uint64_t closed = monotonic_ns();
  hits_.clear();
  objects_.clear();
  read_hits(batch);
  name_types(batch, *before);
  measure_costs();
  weigh(batch);
  ends_.look(closed);
  batch.until_ns = 0;
  // Own work takes a fifth of a processor at most.
  const std::uint64_t now = monotonic_ns(), work = (opened - began) + (now - closed);
  const double by_chance = std::uniform_real_distribution<double>(0.6, 1.4)(random_);
  next_ns_ = std::max(began + static_cast<std::uint64_t>(rule_.round_ns * by_chance), now + 4 * work);
  return batch;
}

SampleBatch AllocationSource::rest() {
  SampleBatch batch;
  batch.capture.arch = arch_;
  batch.capture.consistency = Consistency::not_stopped;
  for (auto& [key, thread] : threads_) forget(thread, batch);
  batch.ended.clear();  // they have not
  threads_.clear();     // gives their debug registers back
  return batch;
}

SourceAccount AllocationSource::account() const {
  SourceAccount account;
  account.lost_in_kernel = lost_;
  return account;
}

std::string AllocationSource::words() const {
  std::string words = "breakpoints on allocation limits";
  if (const std::uint32_t ns = cost_ns_; ns != 0) words += ", " + std::to_string((ns + 500) / 1000) + " us a hit";
  if (const std::uint32_t refused = refused_; refused != 0)
    words += ", " + std::to_string(refused) + " threads whose debug registers are taken";
  return words;
}

}  // namespace mixstack::record
