// Input: a process whose runtimes tell, for each thread, where they write the limit of its room for small objects and
// its bytes of large ones, and how many bytes it has allocated. Output: samples of threads that were just given room,
// with the type of the object that they were making, each of as many bytes as it stands for.
// Algorithm: the kernel's breakpoints on these words tell of each room. A hit costs the thread much more than an
// allocation does, so that threads are watched in short windows, as long as their rates and the measured cost of a hit
// allow (`WindowRule`); one that allocates little is watched all the time. A round: 1. read the counters; choose the
// threads with most bytes; 2. open and close the windows; 3. take the hits; 4. read the types of the new objects from
// the heap, before a collection moves them; 5. read the counters again: where a collection began since step 1, the
// types are dropped; what each thread allocated since its last hit is shared over its hits. Bytes without a hit stay
// owed until the next one, and are reported without a stack when their thread ends, so that all bytes are in the
// recording. Order: rounds of 25 ms, more or less by chance, since programs have rhythms of their own. Bounds:
// kMostWatched threads; kMostListed in all; windows of a round; objects of kMostObjects a round.
#include "features/record/allocation_source.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <ctime>
#include <set>
#include <utility>

#include "features/record/target_state.h"
#include "process/perf/kernel_files.h"

namespace mixstack::record {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kIdle = 10 * kSecond;  // a thread that has allocated nothing for so long is not watched
constexpr double kSmallRoom = 8192, kLargeObject = 100e3;  // bytes of a hit, roughly: for rates only
constexpr std::uint32_t kCalm = 4;                         // rounds without a collection
constexpr std::size_t kFewThreads = 16;                    // with larger rings
constexpr std::size_t kMostListed = 1 << 14, kMostObjects = 4096, kSmall = 0, kLarge = 1;
constexpr std::uint64_t kLongestWindow = 12'000'000;  // ns of the clock
constexpr std::uint32_t kMostHits = 40;               // of a window: a ring has room for more

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
    if (!tried) {
      last = tried.error();
      if (last.code != ErrorCode::no_such_thread) break;
      continue;
    }
    const auto cost = perf::measure_hit_cost(source->arch_);
    if (cost) source->cost_.set_own(*cost);
    if (cost) source->cost_ns_ = static_cast<std::uint32_t>(source->cost_.ns());
    return source;
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
      const auto bytes = static_cast<double>(word.ledger.total(totals[i]));
      if (bytes > 0) thread.allocated_ns = now.at_ns;
      const double seconds = static_cast<double>(now.at_ns - noted_ns_) / 1e9;
      if (!is_first && seconds > 0)
        word.rate += (bytes / seconds / (i == kSmall ? kSmallRoom : kLargeObject) - word.rate) / 4;
    }
  }
  const std::uint64_t passed = is_first ? 0 : now.at_ns - noted_ns_;
  noted_ns_ = now.at_ns;
  for (auto& [key, thread] : threads_) measure(thread, passed);
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
  perf::WriteWatch::Options options;
  if (wanted_ > kFewThreads) options.ring_bytes /= 4;
  auto watch = perf::WriteWatch::open(thread.tid, arch_, std::span(words, thread.large_at != 0 ? 2 : 1), options);
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
  wanted_ = wanted.size();
  // Some 2000 samples a second of all threads.
  rule_.most_hits = std::clamp(50.0 / static_cast<double>(std::max<std::size_t>(wanted.size(), 1)), 1.0, 8.0);
  // Where collections come often, types of hits that were long ago cannot be read.
  const bool is_calm = calm_rounds_ >= kCalm;
  rule_.longest = is_calm ? static_cast<double>(kLongestWindow) : WindowRule().longest;
  for (Thread* thread : wanted) {
    if (!thread->watch) (void)watch(*thread);
    for (std::size_t i = 0; i < thread->watched(); i++)
      thread->words[i].length =
          std::min(rule_.length(thread->words[i].rate, cost_.ns()), is_calm ? rule_.round_ns : rule_.longest);
  }
}

/// When to look at an open window again (CLOCK_MONOTONIC); 0: it is over. The thread has had its own time, without what
/// hits cost it. Hits are counted in the ring: to ask the kernel for them would interrupt the thread.
std::uint64_t AllocationSource::look_at_window(Thread& thread, std::size_t i, SampleBatch& batch) {
  constexpr double kSoon = 40e3;  // ns
  Word& word = thread.words[i];
  read_hits(thread, batch);
  const std::uint64_t now = monotonic_ns();
  const auto since = static_cast<double>(now - word.opened_ns), cost = cost_.ns();
  const double left = word.length + settling(cost) - own_time(since, word.hits, cost);
  if (left > 0 && word.hits < kMostHits && since <= static_cast<double>(kLongestWindow))
    return now + static_cast<std::uint64_t>(std::max(time_for(left, word.rate, cost), kSoon));
  thread.watch->switch_off(i);
  return 0;
}

void AllocationSource::watch_windows(SampleBatch& batch, const std::stop_token& stop) {
  struct Open {
    Thread* thread = nullptr;
    std::size_t word = 0;
    std::uint64_t next_ns = 0;
  };
  std::vector<Open> open;
  for (auto& [key, thread] : threads_)
    for (std::size_t i = thread.watched(); i-- > 0;) {  // small objects, with most hits, last: nothing disturbs them
      Word& word = thread.words[i];
      const bool is_always = word.length >= rule_.round_ns;
      if (!is_always && word.is_on) thread.watch->switch_off(i);
      if (is_always && !word.is_on) thread.watch->switch_on(i);
      word.is_on = is_always;
      if (is_always) word.opened_ns = monotonic_ns();
      if (!is_always) open.push_back({&thread, i});
    }
  for (Open& one : open) {
    Word& word = one.thread->words[one.word];
    const std::uint64_t before = std::exchange(word.opened_ns, 0);
    word.last = one.thread->watch->counts(one.word);  // hits of an earlier time do not count
    one.thread->watch->switch_on(one.word);
    word.opened_ns = monotonic_ns();
    word.gap_ns = before == 0 ? static_cast<std::uint64_t>(rule_.round_ns) : word.opened_ns - before;
    one.next_ns = word.opened_ns +
                  static_cast<std::uint64_t>(time_for(word.length + settling(cost_.ns()), word.rate, cost_.ns()));
  }
  while (!open.empty()) {
    const auto first =
        std::min_element(open.begin(), open.end(), [](const Open& a, const Open& b) { return a.next_ns < b.next_ns; });
    if (!stop.stop_requested()) sleep_until(first->next_ns);
    const std::uint64_t now = monotonic_ns();
    std::erase_if(open, [&](Open& one) {
      if (one.next_ns <= now || stop.stop_requested()) one.next_ns = look_at_window(*one.thread, one.word, batch);
      return one.next_ns == 0;
    });
  }
}

void AllocationSource::add_hit(Thread& thread, std::size_t word, const perf::PerfSample& sample, SampleBatch& batch) {
  Word& of = thread.words[word];
  const double own =
      own_time(static_cast<double>(sample.time_ns) - static_cast<double>(of.opened_ns), of.hits++, cost_.ns());
  const double since = own - settling(cost_.ns());
  if (sample.time_ns < begin_ns_ || !sample.has_user || (!of.is_on && (since < 0 || since > of.length))) return;
  of.counted++;
  if (of.hit_ns != 0) of.between.push_back(static_cast<double>(sample.time_ns - std::min(sample.time_ns, of.hit_ns)));
  of.hit_ns = sample.time_ns;
  const auto bytes = sample.stack.first(ends_.fit(sample.tid, sample.stack_base, sample.stack.size()));
  ThreadCapture capture;
  capture.tid = capture.ns_tid = sample.tid;
  capture.comm = thread.comm;
  capture.kernel_state = 'R';
  capture.captured = true;
  capture.registers = sample.user;
  capture.stack = {sample.stack_base, stacks_.keep(batch.capture, bytes)};
  capture.stack_truncated = sample.stack_truncated;
  const double events = of.is_on ? 1.0 : std::max(static_cast<double>(of.gap_ns) / of.length, 1.0);
  hits_.push_back({&thread, word, batch.samples.size(), events});
  if (objects_.size() < kMostObjects) objects_.push_back({words_of(sample.user), word == kLarge});
  batch.threads.push_back(std::move(capture));
  batch.samples.push_back({sample.time_ns, SampleClock::bytes, Activity::running});
}

void AllocationSource::begin_round() {
  hits_.clear();
  objects_.clear();
  for (auto& [key, thread] : threads_)
    for (Word& word : thread.words) {
      word.hits = word.counted = 0;
      word.hit_ns = 0;
      word.between.clear();
    }
}

void AllocationSource::read_hits(Thread& thread, SampleBatch& batch) {
  thread.watch->drain([&](std::size_t word, const perf::PerfSample& sample) { add_hit(thread, word, sample, batch); });
}

/// The processor time of a thread that allocates much: its rate is that of the time that it ran.
void AllocationSource::measure(Thread& thread, std::uint64_t passed_ns) const {
  const bool is_busy = thread.words[kSmall].rate >= HitCost::kLeastRate;
  const std::uint64_t before = std::exchange(thread.cpu_ns, is_busy ? cpu_ns_of_thread(proc_.pid(), thread.tid) : 0);
  if (before == 0 || thread.cpu_ns <= before || passed_ns == 0) return;
  const double share = static_cast<double>(thread.cpu_ns - before) / static_cast<double>(passed_ns);
  thread.cpu_share += (std::clamp(share, 0.05, 1.0) - thread.cpu_share) / 8;
}

void AllocationSource::count_hits() {
  for (auto& [key, thread] : threads_)
    for (std::size_t i = 0; i < thread.watched(); i++) {
      Word& word = thread.words[i];
      const perf::WriteWatch::Counts now = thread.watch->counts(i);
      lost_ += now.lost - std::min(now.lost, word.last.lost);
      if (i == kSmall && !word.is_on) cost_.add(word.between, word.rate / thread.cpu_share);
      word.last = now;
    }
  if (cost_ns_ != 0) cost_ns_ = static_cast<std::uint32_t>(cost_.ns());
}

/// `before`: the numbers of collections right before the windows. A thread that is watched all the time may
/// have been hit earlier, and another object may lie there by now, if a collection was in between: such types are not
/// read.
void AllocationSource::name_types(SampleBatch& batch, const Collections& before) {
  if (objects_.empty() || std::find(before.begin(), before.end(), std::nullopt) != before.end()) return;
  const std::lock_guard lock(session_->mutex);
  auto types = session_->session->new_object_types(objects_);
  if (!types) return;
  const bool is_same = session_->session->collections() == before,
             is_same_round = is_same && before == last_collections_;
  for (std::size_t i = 0; i < types->size(); i++) {
    const bool is_always = hits_[i].thread->words[hits_[i].word].is_on;
    if (is_always ? is_same_round : is_same) batch.samples[hits_[i].at].type = std::move((*types)[i]);
  }
}

void AllocationSource::weigh(SampleBatch& batch) {
  std::set<std::pair<const Thread*, std::size_t>> seen;
  for (const Hit& hit : hits_) {
    Word& word = hit.thread->words[hit.word];
    if (seen.emplace(hit.thread, hit.word).second) word.ledger.saw(word.counted, hit.events);
    batch.samples[hit.at].weight = word.ledger.weight(hit.events);
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
  const Collections collections = [&] {
    const std::lock_guard lock(session_->mutex);
    return session_->session->collections();
  }();
  const std::uint64_t opened = monotonic_ns();
  begin_round();
  watch_windows(batch, stop);
  const std::uint64_t closed = monotonic_ns();
  for (auto& [key, thread] : threads_)
    if (thread.watch) read_hits(thread, batch);
  name_types(batch, collections);
  calm_rounds_ = collections == last_collections_ ? std::min(calm_rounds_ + 1, 2 * kCalm) : 0;
  last_collections_ = collections;
  count_hits();
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
  if (const std::uint32_t ns = cost_ns_; ns != 0)
    words += ", " + std::to_string(std::max((ns + 500) / 1000, 1u)) + " us a hit";
  if (const std::uint32_t refused = refused_; refused != 0)
    words += ", " + std::to_string(refused) + " threads whose debug registers are taken";
  return words;
}

}  // namespace mixstack::record
