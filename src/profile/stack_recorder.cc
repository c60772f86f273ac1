#include "profile/stack_recorder.h"

#include <algorithm>

namespace mixstack::profile {
namespace {

bool is_well_known(const Trace& trace) {
  return trace.stop == StopReason::end_of_stack &&
         std::all_of(trace.frames.begin(), trace.frames.end(), [](const Frame& frame) {
           return frame.kind != FrameKind::undescribed && frame.trust <= Trust::checkpoint;
         });
}

}  // namespace

StackRecorder::StackRecorder(SharedSession& session, SharedRecording& shared, const Options& options)
    : session_(session),
      shared_(shared),
      options_(options),
      target_(session.session->target().info()),
      names_(shared.recording, target_) {}

Result<void> StackRecorder::take(SampleBatch batch) {
  source_ = std::min<std::size_t>(batch.source, 1);
  batch_ns_ = monotonic_ns();
  if (batch.samples.empty()) {
    const std::lock_guard lock(shared_.mutex);
    finish(batch);
    return {};
  }
  if (auto prepared = prepare_walker(batch); !prepared) return prepared;
  const std::lock_guard lock(shared_.mutex);
  for (std::size_t i = 0; i < batch.threads.size() && i < batch.samples.size(); i++)
    record(batch.threads[i], batch.samples[i]);
  finish(batch);
  return {};
}

/// The bytes of the batch's stacks stay with the batch, or go with the walker's capture.
Result<void> StackRecorder::prepare_walker(SampleBatch& batch) {
  const bool is_shared = batch.capture.consistency == Consistency::not_stopped;
  if (is_shared) bytes_ = std::move(batch.capture.storage);
  if (is_shared && walker_is_shared_ && walker_ && monotonic_ns() - walker_made_ns_ < kWalkerLife) return {};
  return make_walker(std::move(batch.capture));
}

Result<void> StackRecorder::make_walker(Capture capture) {
  const std::lock_guard lock(session_.mutex);
  walker_.reset();  // gives its caches back first
  walker_is_shared_ = capture.consistency == Consistency::not_stopped;
  WalkOptions options;
  options.max_frames = options_.max_frames;
  auto made = session_.session->walker(std::move(capture), options);
  if (!made) return fail(made.error());
  walker_.emplace(std::move(*made));
  walker_made_ns_ = monotonic_ns();
  names_.begin(*walker_, std::chrono::nanoseconds(walker_made_ns_));
  gc_pending_ = false;
  for (const dotnet::Runtime& runtime : walker_->runtimes())
    gc_pending_ = gc_pending_ || runtime.summary().suspension.has_value();
  return {};
}

/// A walker that was made before the samples were taken may not know code that has come since.
Trace StackRecorder::walk(const ThreadCapture& thread) {
  Trace trace = walker_->walk(thread);
  if (!walker_is_shared_ || walker_made_ns_ >= batch_ns_ || is_well_known(trace)) return trace;
  Capture nothing;
  nothing.arch = target_.arch;
  nothing.consistency = Consistency::not_stopped;
  if (!make_walker(std::move(nothing)) || !walker_) return trace;
  return walker_->walk(thread);
}

void StackRecorder::finish(SampleBatch& batch) {
  for (const Repeat& r : batch.repeats) repeat(r);
  for (const ThreadId tid : batch.ended) end(tid);
}

void StackRecorder::flush() {
  const std::lock_guard lock(shared_.mutex);
  for (auto& [tid, thread] : threads_)
    for (Run& run : thread.runs) write(run);
}

StackRecorder::Thread* StackRecorder::thread_of(ThreadId tid, std::uint64_t time_ns, const ThreadCapture* capture) {
  auto known = threads_.find(tid);
  if (known == threads_.end()) {
    if (capture == nullptr) return nullptr;
    RecordedThread thread{.process = options_.process, .tid = tid};
    thread.comm = capture->comm;
    thread.first_ns = time_ns;
    const auto index = shared_.recording.add_thread(thread);
    if (!index) return nullptr;
    known = threads_.emplace(tid, Thread{}).first;
    known->second.index = *index;
  }
  RecordedThread& thread = shared_.recording.thread(known->second.index);
  thread.last_ns = std::max(thread.last_ns, time_ns);
  if (capture != nullptr && !capture->comm.empty() && thread.comm != capture->comm) thread.comm = capture->comm;
  return &known->second;
}

void StackRecorder::name_thread(Thread& thread, const ThreadCapture& capture) {
  const auto managed = walker_->managed(capture);
  if (!managed) return;
  thread.is_named = true;
  shared_.recording.thread(thread.index).name = managed->name;
}

void StackRecorder::record(const ThreadCapture& capture, const SampledThread& sample) {
  RecordingAccount& account = shared_.recording.facts.account;
  const std::uint64_t time = sample.time_ns - std::min(sample.time_ns, options_.start_ns);
  Thread* thread = thread_of(capture.tid, time, &capture);
  if (!capture.captured || thread == nullptr) {
    (capture.captured ? account.lost_in_tree : account.lost_to_stops)++;
    if (thread != nullptr) thread->runs[source_].has_stack = false;
    return;
  }
  if (!thread->is_named && walker_) name_thread(*thread, capture);
  if (!walker_) return;
  const Trace trace = walk(capture);
  const auto stack = stack_of(trace, sample.kernel);
  if (!stack) {
    account.lost_in_tree++;
    return;
  }
  SampleContext context{.thread = thread->index, .clock = sample.clock, .activity = sample.activity};
  context.gc_pending = gc_pending_;
  context.stop = trace.stop;
  context.system_call = static_cast<std::int32_t>(capture.syscall);
  if (const auto cooperative = walker_->is_cooperative(capture))
    context.gc_mode = *cooperative ? GcMode::cooperative : GcMode::preemptive;
  account.walked++;
  count(thread->runs[source_], *stack, context, time);
}

/// Outermost first, so that stacks share what called them.
std::optional<std::uint32_t> StackRecorder::stack_of(const Trace& trace, std::span<const Address> kernel) {
  std::uint32_t node = 0;
  for (std::size_t i = trace.frames.size(); i-- > 0;) {
    const auto numbers = names_.numbers(trace.frames[i]);
    if (numbers.empty()) return std::nullopt;
    for (std::size_t n = numbers.size(); n-- > 0;) {
      const auto next = shared_.recording.node({node, numbers[n]});
      if (!next) return std::nullopt;
      node = *next;
    }
  }
  for (std::size_t i = kernel.size(); options_.kernel != nullptr && i-- > 0;) {
    const auto module = shared_.recording.module({"[kernel]", "", ""});
    const auto function = shared_.recording.function(
        {.name = options_.kernel->name(kernel[i]), .module = module.value_or(kNoIndex), .kind = CodeKind::kernel});
    const auto frame = function ? shared_.recording.frame({.function = *function, .address = kernel[i]}) : std::nullopt;
    const auto next = frame ? shared_.recording.node({node, *frame}) : std::nullopt;
    if (!next) return std::nullopt;
    node = *next;
  }
  return node;
}

void StackRecorder::repeat(const Repeat& repeat) {
  const std::uint64_t time = repeat.time_ns - std::min(repeat.time_ns, options_.start_ns);
  Thread* thread = thread_of(repeat.tid, time, nullptr);
  if (thread == nullptr || !thread->runs[source_].has_stack) return;
  Run& run = thread->runs[source_];
  SampleContext context = run.context;
  context.activity = repeat.activity;
  context.gc_pending = gc_pending_;
  count(run, run.sample.stack, context, time);
}

void StackRecorder::count(Run& run, std::uint32_t stack, const SampleContext& context, std::uint64_t time_ns) {
  RecordingAccount& account = shared_.recording.facts.account;
  account.samples++;
  if (context.stop != StopReason::end_of_stack) account.cut++;
  const bool goes_on = run.sample.count != 0 && run.sample.stack == stack && run.context == context &&
                       time_ns - std::min(time_ns, run.sample.time_ns) < kLongestRun;
  run.has_stack = true;
  if (goes_on) {
    run.sample.count++;
    return;
  }
  write(run);
  run.context = context;
  run.sample = {.time_ns = time_ns, .stack = stack, .count = 1};
}

void StackRecorder::write(Run& run) {
  if (run.sample.count == 0) return;
  const auto context = shared_.recording.context(run.context);
  Sample sample = run.sample;
  sample.context = context.value_or(kNoIndex);
  if (!shared_.recording.add(sample)) {
    shared_.recording.facts.account.lost_in_tree += sample.count;
    shared_.recording.facts.account.samples -= sample.count;
  }
  // The stack stays known: a thread that has not run is in it still.
  run.sample.count = 0;
}

void StackRecorder::end(ThreadId tid) {
  const auto known = threads_.find(tid);
  if (known == threads_.end()) return;
  for (Run& run : known->second.runs) write(run);
  threads_.erase(known);
}

}  // namespace mixstack::profile
