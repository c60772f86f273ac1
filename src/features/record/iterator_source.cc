#include "features/record/iterator_source.h"

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <thread>

#include "features/record/stop_source.h"

namespace mixstack::record {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint32_t kRoundsUntilEnded = 3;  // a round may miss a thread
constexpr int kMoreLooks = 6;
constexpr std::uint64_t kShortRound = 8;              // a round of up to 1/8 of a period counts as short
constexpr std::chrono::microseconds kFirstPause{25};  // twice as long before each other look: 1.6 ms in all

std::uint64_t thread_cpu_ns() {
  timespec time{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

/// The process was changing its mappings at that moment, so its stack could not be copied.
bool was_busy(const bpf::ThreadState& state) {
  return state.look == bpf::Look::fresh && state.stack.bytes.empty() && state.stack_error.os_error == EBUSY;
}

bool is_on_processor(const bpf::ThreadState& state) {
  return state.look == bpf::Look::on_cpu || state.look == bpf::Look::torn;
}

/// Removes all that a round has reported of a thread.
void forget(ThreadId tid, SampleBatch& batch) {
  for (auto* told : {&batch.repeats, &batch.running})
    std::erase_if(*told, [tid](const auto& t) { return t.tid == tid; });
  for (std::size_t i = 0; i < batch.threads.size(); i++) {
    if (batch.threads[i].tid != tid) continue;
    batch.threads.erase(batch.threads.begin() + static_cast<std::ptrdiff_t>(i));
    batch.samples.erase(batch.samples.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

Activity activity_of(char state) {
  switch (state) {
    case 'R':
      return Activity::runnable;
    case 'D':
      return Activity::blocked;
    case 'S':
    case 'I':
      return Activity::waiting;
    default:
      return Activity::unknown;
  }
}

}  // namespace

IteratorSource::IteratorSource(Arch arch, std::uint32_t hertz, bpf::TaskIterator iterator)
    : arch_(arch),
      hertz_(std::max(1u, hertz)),
      iterator_(std::move(iterator)),
      clock_(monotonic_ns(), kSecond / hertz_, static_cast<std::uint32_t>(monotonic_ns())),
      due_ns_(monotonic_ns()) {}

void IteratorSource::begin(std::uint64_t now_ns) {
  clock_ = RoundClock(now_ns, kSecond / hertz_, static_cast<std::uint32_t>(now_ns));
  due_ns_ = now_ns;
  has_begun_ = true;
}

Result<std::unique_ptr<IteratorSource>> IteratorSource::open(std::uint32_t pid, Arch arch, std::uint32_t hertz,
                                                             bool kernel) {
  bpf::IteratorOptions options;
  options.stack_bytes = 64 << 10;
  // Perf events have counted displaced threads as running: they wait only because we took their CPU.
  options.leaves_displaced = true;
  options.kernel_frames = kernel ? 64 : 0;
  auto iterator = bpf::TaskIterator::open(pid, options);
  if (!iterator) return fail(iterator.error());
  return std::unique_ptr<IteratorSource>(new IteratorSource(arch, hertz, std::move(*iterator)));
}

void IteratorSource::take(const bpf::ThreadState& state, Activity activity, std::uint64_t now, SampleBatch& batch) {
  const auto set = state.registers();
  if (!set) {
    account_.lost_to_stops++;
    batch.lost.push_back(state.tid);
    return;
  }
  ThreadCapture thread;
  thread.tid = state.tid;
  thread.ns_tid = state.ns_tid;
  thread.comm = state.comm;
  thread.kernel_state = state.kernel_state;
  thread.syscall = set->syscall;
  thread.captured = true;
  thread.registers = set->registers;
  thread.stack = {state.stack.base, stacks_.keep(batch.capture, state.stack.bytes)};
  thread.stack_truncated = true;  // the copy may end before the mapping does
  batch.threads.push_back(std::move(thread));
  batch.samples.push_back({now, SampleClock::wall, activity, {state.kernel.begin(), state.kernel.end()}, true});
}

void IteratorSource::add(const bpf::ThreadState& state, Activity activity, std::uint64_t now, SampleBatch& batch) {
  if (state.look == bpf::Look::fresh) take(state, activity, now, batch);
  if (state.look == bpf::Look::unchanged) batch.repeats.push_back({state.tid, now, activity});
  if (is_on_processor(state)) batch.running.push_back({state.tid, now, Activity::running});
  if (state.look == bpf::Look::no_room) {
    account_.lost_in_kernel++;
    batch.lost.push_back(state.tid);
  }
}

/// Reads again the stacks that the first look could not copy. Other threads that have run meanwhile are replaced too,
/// since a later round reports changes since this look.
Result<void> IteratorSource::look_again(std::uint64_t now, SampleBatch& batch) {
  const auto states = iterator_.read();
  if (!states) return fail(states.error());
  std::vector<ThreadId> busy;
  for (const bpf::ThreadState& state : *states) {
    const bool is_wanted = std::find(busy_.begin(), busy_.end(), state.tid) != busy_.end();
    if (was_busy(state)) {
      if (is_wanted) busy.push_back(state.tid);
      continue;
    }
    const bool is_told = state.look == bpf::Look::fresh || state.look == bpf::Look::on_cpu;
    if (state.look != bpf::Look::fresh && !(is_wanted && is_told)) continue;
    forget(state.tid, batch);
    add(state, activity_of(state.kernel_state), now, batch);
  }
  busy_ = std::move(busy);
  return {};
}

/// Notes a thread in a round; returns its activity.
Activity IteratorSource::note(const bpf::ThreadState& state, std::uint64_t now) {
  const Activity activity = activity_of(state.kernel_state);
  if (state.look == bpf::Look::ending) return activity;
  Seen& seen = seen_[state.tid];
  seen.round = round_;
  seen.balance.round(now, static_cast<std::uint64_t>(state.run_time.count()), last_ns_);
  if (is_on_processor(state))
    seen.balance.found_running();
  else if (activity == Activity::runnable && seen.balance.owes_running())
    return Activity::running;
  return activity;
}

void IteratorSource::find_ended(SampleBatch& batch) {
  for (auto at = seen_.begin(); at != seen_.end();) {
    const bool is_gone = round_ - at->second.round >= kRoundsUntilEnded;
    if (is_gone) batch.ended.push_back(at->first);
    at = is_gone ? seen_.erase(at) : std::next(at);
  }
}

Result<SampleBatch> IteratorSource::next(const std::stop_token& stop) {
  SampleBatch batch;
  if (has_begun_) turn_.want(last_cpu_ns_ < kSecond / hertz_ / kShortRound);
  if (!sleep_until(due_ns_, stop)) return batch;
  const std::uint64_t now = monotonic_ns(), cpu_before = thread_cpu_ns();
  due_ns_ = clock_.next(now);
  batch.capture.arch = arch_;
  batch.capture.consistency = Consistency::not_stopped;
  stacks_.begin();
  const auto moved = iterator_.read_moved();
  if (!moved) return fail(moved.error());
  const bool is_all = moved->is_all;
  if (is_all)
    round_++;
  else
    batch.others_ns = now;
  batch.threads.reserve(last_samples_);
  batch.samples.reserve(last_samples_);
  busy_.clear();
  for (std::span<const bpf::ThreadState> part = moved->threads; !part.empty();) {
    for (const bpf::ThreadState& state : part) {
      const Activity activity = note(state, now);
      if (was_busy(state)) busy_.push_back(state.tid);
      add(state, activity, now, batch);
    }
    if (is_all) break;
    const auto more = iterator_.read_more();
    if (!more) return fail(more.error());
    part = *more;
  }
  last_ns_ = now;
  last_samples_ = batch.samples.size();
  for (int i = 0; i < kMoreLooks && !busy_.empty(); i++) {
    std::this_thread::sleep_for(kFirstPause * (1 << i));
    if (const auto again = look_again(now, batch); !again) return fail(again.error());
  }
  if (is_all) find_ended(batch);
  if (seen_.empty()) return fail(ErrorCode::no_such_process);
  batch.until_ns = monotonic_ns();
  last_cpu_ns_ = thread_cpu_ns() - cpu_before;
  return batch;
}

SourceAccount IteratorSource::account() const {
  SourceAccount account = account_;
  account.skipped += clock_.skipped();
  return account;
}

}  // namespace mixstack::record
