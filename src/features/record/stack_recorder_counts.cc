// Samples, repeats and rounds as counts of a recording.
#include <algorithm>
#include <utility>

#include "base/words/made_names.h"
#include "features/record/stack_recorder.h"

namespace mixstack::record {

/// One round is one sample. Samples and rounds arrive in separate batches: whichever comes first waits for the other.
void StackRecorder::count_running(Thread& thread, const Ran& ran) {
  thread.last = ran;
  thread.last_is_spare = thread.owed == 0;
  const std::uint32_t rounds = std::min(thread.owed, 1 + thread.owed / kFewOwed);
  thread.owed -= rounds;
  for (std::uint32_t i = 0; i < rounds; i++) count(thread.runs[batch_.source], ran.stack, ran.context, ran.time_ns);
}

void StackRecorder::found_running(const RepeatedSample& round) {
  const auto known = threads_.find(round.tid);
  if (known != threads_.end()) known->second.told_ns = round.time_ns;
  if (!options_.rounds_weigh || !counts() || round.time_ns >= options_.end_ns) return;
  if (known == threads_.end()) {
    if (owed_to_new_.size() < kMostNew || owed_to_new_.contains(round.tid)) owed_to_new_[round.tid]++;
    return;
  }
  Thread& thread = known->second;
  if (!thread.last_is_spare) {
    thread.owed++;
    return;
  }
  thread.last_is_spare = false;
  count(thread.runs[kRunning], thread.last->stack, thread.last->context, thread.last->time_ns);
}

/// Rounds for which no more samples come are counted where the last sample was.
void StackRecorder::settle(Thread& thread) {
  Run& seen = thread.runs[options_.rounds_weigh ? 1 - kRunning : 0];
  for (; thread.unseen != 0 && seen.has_stack; thread.unseen--)
    count(seen, seen.sample.stack, seen.context, seen.sample.time_ns);
  for (; thread.owed != 0 && thread.last; thread.owed--)
    count(thread.runs[kRunning], thread.last->stack, thread.last->context, thread.last->time_ns);
  shared_.recording.facts.account.lost_to_stops += std::exchange(thread.owed, 0) + std::exchange(thread.unseen, 0);
}

void StackRecorder::repeat(const RepeatedSample& told) {
  const auto known = threads_.find(told.tid);
  if (known == threads_.end()) return;
  known->second.told_ns = told.time_ns;
  repeat(known->second, told.time_ns, told.activity);
}

/// `activity`: nothing means as before.
void StackRecorder::repeat(Thread& thread, std::uint64_t time_ns, std::optional<Activity> activity) {
  Run& run = thread.runs[batch_.source];
  if (time_ns >= options_.end_ns || !run.has_stack) return;
  const std::uint64_t time = time_ns - std::min(time_ns, options_.start_ns);
  RecordedThread& recorded = shared_.recording.thread(thread.index);
  recorded.last_ns = std::max(recorded.last_ns, time);
  SampleContext context = run.context;
  context.activity = activity.value_or(context.activity);
  context.gc_pending = walker_.gc_pending();
  count(run, run.sample.stack, context, time);
}

void StackRecorder::repeat_others(std::uint64_t time_ns) {
  for (auto& [tid, thread] : threads_)
    if (thread.told_ns != time_ns) repeat(thread, time_ns, std::nullopt);
}

void StackRecorder::count(Run& run, std::uint32_t stack, const SampleContext& context, std::uint64_t time_ns,
                          std::uint32_t weight) {
  if (!counts()) {
    // The next round may report that it has not run since.
    run = {.sample = {.time_ns = time_ns, .stack = stack, .count = 0}, .context = context, .has_stack = true};
    return;
  }
  RecordingAccount& account = shared_.recording.facts.account;
  account.samples++;
  if (context.stop != StopReason::end_of_stack) account.cut++;
  const bool goes_on = run.sample.count != 0 && run.sample.stack == stack && run.context == context &&
                       time_ns - std::min(time_ns, run.sample.time_ns) < kLongestRun &&
                       weight <= UINT32_MAX - run.sample.count;
  run.has_stack = true;
  if (goes_on) {
    run.sample.count += weight;
    return;
  }
  write(run);
  run.context = context;
  run.sample = {.time_ns = time_ns, .stack = stack, .count = weight};
}

void StackRecorder::write(Run& run) {
  if (run.sample.count == 0) return;
  const auto context = shared_.recording.context(run.context);
  Sample sample = run.sample;
  sample.context = context.value_or(kNoIndex);
  if (!shared_.recording.add(sample)) {
    const std::uint32_t samples = run.context.clock == SampleClock::bytes ? 1 : sample.count;
    shared_.recording.facts.account.lost_in_tree += samples;
    shared_.recording.facts.account.samples -= samples;
  }
  // The stack stays known: a thread that has not run is still in it.
  run.sample.count = 0;
}

/// A box for the type of the object, called by the code that made it.
void StackRecorder::count_bytes(Thread& thread, std::uint32_t stack, const SampleContext& context,
                                const SampledThread& sample) {
  if (sample.weight == 0) return;
  const auto node = options_.allocations ? type_node(stack, sample.type) : std::optional(stack);
  const std::uint64_t time = sample.time_ns - std::min(sample.time_ns, options_.start_ns);
  if (node) return count(thread.runs[batch_.source], *node, context, time, sample.weight);
  if (counts()) shared_.recording.facts.account.lost_in_tree++;
}

void StackRecorder::count_unplaced(const UnplacedBytes& unplaced) {
  if (!counts() || unplaced.time_ns >= options_.end_ns) return;
  ThreadCapture capture;
  capture.comm = unplaced.comm;
  const std::uint64_t time = unplaced.time_ns - std::min(unplaced.time_ns, options_.start_ns);
  Thread* thread = thread_of(unplaced.tid, time, &capture);
  const auto node = thread != nullptr ? box_node(0, kUnplaced) : std::nullopt;
  if (!node) return;
  const SampleContext context{.thread = thread->index, .clock = SampleClock::bytes, .activity = Activity::running};
  Run& run = thread->runs[batch_.source];
  for (std::uint64_t left = unplaced.bytes; left != 0;) {
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(left, UINT32_MAX));
    count(run, *node, context, time, part);
    shared_.recording.facts.account.samples--;  // it is none
    left -= part;
  }
}

void StackRecorder::end(ThreadId tid) {
  if (const auto owed = owed_to_new_.extract(tid)) shared_.recording.facts.account.lost_to_stops += owed.mapped();
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return;
  settle(known->second);
  outer_frames_.forget(tid);
  for (Run& run : known->second.runs) write(run);
  threads_.erase(known);
}

}  // namespace mixstack::record
