// Input: a source's batches: threads with registers and copied stack bytes, repeats, mappings. Output: samples in a
// `Recording`.
// Algorithm, for each batch: (1) note new mappings; (2) wait until all mappings older than its samples are known, since
// an address may belong to other code by now; (3) make a walker, or reuse one of at most `kWalkerLife`; (4) look up
// each sample's addresses in `KnownStacks`, since most samples repeat; (5) else walk, again with a new walker if code
// is newer than the old one, complete deep stacks, and name frames; (6) last count repeats, rounds and ended threads,
// since they refer to stacks of samples.
// Bounds: `kMostWaiting` batches and `kMostWaitingSamples` samples wait; `max_frames` per walk; tables are cleared at
// `kMostKernelFrames` and `kMostUnknown`; `Recording`, `KnownStacks` and `OuterFramesOfThreads` are bounded themselves.
#include "features/record/stack_recorder.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/words/made_names.h"
#include "base/words/stack_depth.h"

namespace mixstack::record {
namespace {

/// The first frame whose code nothing describes, or the last frame of a walk that could not continue.
std::optional<Address> unknown_place(const Trace& trace) {
  for (const Frame& frame : trace.frames)
    if (frame.kind == FrameKind::undescribed || frame.trust > Trust::checkpoint) return frame.pc.raw();
  if (trace.stop == StopReason::end_of_stack || trace.stop == StopReason::stack_truncated) return std::nullopt;
  return trace.frames.empty() ? 0 : trace.frames.back().pc.raw();
}

/// Frames with a generic context, and the types that they run for: these tell apart stacks of the same addresses.
/// Empty: no frame has one.
std::vector<Address> generic_contexts(const Trace& trace) {
  std::vector<Address> all;
  for (std::size_t i = 0; i < trace.frames.size(); i++) {
    const GenericContext context = trace.frames[i].generic_context();
    // An object whose type could not be read now may tell it the next time.
    if (context.handle == 0 && !context.of_object) continue;
    all.push_back(i);
    all.push_back(context.handle);
  }
  return all;
}

std::vector<Address> joined(std::span<const Address> first, const std::vector<Address>& second) {
  std::vector<Address> both(first.begin(), first.end());
  both.insert(both.end(), second.begin(), second.end());
  return both;
}

/// A round copies more stacks than a CPU's own cache holds: the next one is prefetched while this one is walked.
void fetch_ahead(std::span<const std::byte> stack) {
  constexpr std::size_t kLine = 64, kMost = 6 << 10;
  for (std::size_t at = 0; at < std::min(stack.size(), kMost); at += kLine) __builtin_prefetch(stack.data() + at);
}

std::uint64_t random_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

}  // namespace

StackRecorder::StackRecorder(SharedSession& session, SharedRecording& shared, const Options& options)
    : session_(session),
      shared_(shared),
      options_(options),
      target_(session.session->target().info()),
      walker_(session, options.max_frames, options.mappings_are_told),
      names_(shared.recording, target_),
      known_stacks_(random_number()) {}

void StackRecorder::warm_up(SampleBatch batch) {
  state_ = State::warming_up;
  (void)take(std::move(batch));
  state_ = State::recording;
}

/// The report may never come.
void StackRecorder::hurry_if_too_many_wait() {
  if (state_ == State::ending) return;
  std::size_t samples = 0;
  for (const SampleBatch& one : waiting_) samples += one.samples.size();
  const bool are_too_many = waiting_.size() > kMostWaiting || samples > kMostWaitingSamples;
  state_ = are_too_many ? State::hurrying : State::recording;
}

/// Samples wait until all mappings made before them, and before the walker read the mappings, are known: otherwise the
/// code at an address may not be the code of that time. Sources report mappings a little later. A stop does not wait:
/// it reads the mappings with its threads, and its bytes belong to its walker, so that the remainder could not be
/// walked later.
bool StackRecorder::must_wait(const SampleBatch& batch) const {
  const bool is_stop = batch.capture.consistency != Consistency::not_stopped;
  return !is_stop && state_ == State::recording && walker_.is_ahead_of_reports(batch.until_ns);
}

/// The walker was made anew for the sample, and has read mappings that are not reported yet.
bool StackRecorder::sample_must_wait() const {
  return walker_.is_shared() && state_ == State::recording && walker_.is_ahead_of_reports();
}

Result<void> StackRecorder::take(SampleBatch batch) {
  walker_.note_mapped(batch);
  if (state_ == State::warming_up) return take_now(std::move(batch));
  waiting_.push_back(std::move(batch));
  while (!waiting_.empty()) {
    hurry_if_too_many_wait();
    if (must_wait(waiting_.front())) break;
    SampleBatch next = std::move(waiting_.front());
    waiting_.pop_front();
    if (auto taken = take_now(std::move(next)); !taken && waiting_.empty()) return taken;
  }
  return {};
}

/// Whether the walker may know other code at the place than was there when the sample was taken.
bool StackRecorder::is_other_code(CodeAddress place, Taken taken) const {
  return (is_hasty() && walker_.changes().touch(place.lookup(), 0, UINT64_MAX)) || walker_.is_other_code(place, taken);
}

/// After each new walker.
void StackRecorder::begin_walker() {
  known_stacks_.begin_walker(names_.begin(*walker_, std::chrono::nanoseconds(walker_.made_ns())));
}

/// False: no walker could be made, or its mappings are not complete yet (`sample_must_wait`).
bool StackRecorder::renew_walker() {
  if (!walker_.renew()) return false;
  begin_walker();
  return !sample_must_wait();
}

Result<void> StackRecorder::take_now(SampleBatch batch) {
  batch_.source = std::min<std::size_t>(batch.source, 1);
  batch_.begun_ns = monotonic_ns();
  batch_.taken = {batch.samples.empty() ? batch_.begun_ns : batch.samples.front().time_ns, batch.until_ns};
  if (!batch.samples.empty())
    if (auto prepared = prepare_walker(batch); !prepared) return prepared;
  const std::lock_guard lock(shared_.mutex);
  const std::size_t samples = std::min(batch.threads.size(), batch.samples.size());
  std::size_t done = 0;
  while (done < samples && !must_wait(batch)) {
    if (done + 1 < batch.threads.size()) fetch_ahead(batch.threads[done + 1].stack.bytes);
    batch.threads[done].taken_ns = batch.samples[done].time_ns;
    record(batch.threads[done], batch.samples[done]);
    if (must_wait(batch)) break;  // this sample, too
    done++;
  }
  if (done == samples) {
    finish(batch);
    return {};
  }
  const auto count = static_cast<std::ptrdiff_t>(done);
  batch.threads.erase(batch.threads.begin(), batch.threads.begin() + count);
  batch.samples.erase(batch.samples.begin(), batch.samples.begin() + count);
  batch.capture.storage = std::move(batch_.bytes);
  waiting_.push_front(std::move(batch));
  return {};
}

/// Bytes of stacks stay with the batch if the walker is shared; otherwise they go with the walker's capture.
Result<void> StackRecorder::prepare_walker(SampleBatch& batch) {
  const bool is_shared = batch.capture.consistency == Consistency::not_stopped;
  if (is_shared) {
    // The walker outlives the batch: it must not refer to bytes that the next batch frees.
    batch_.bytes = std::move(batch.capture.storage);
    batch.capture.threads.clear();
    batch.capture.roots.clear();
  }
  if (is_shared && walker_.is_shared() && monotonic_ns() - walker_.made_ns() < kWalkerLife) return {};
  unknown_.clear();
  auto made = walker_.make(std::move(batch.capture), batch_.taken);
  if (made) begin_walker();
  return made;
}

/// A walker that was made before the samples were taken may not know code that has come since.
std::optional<Trace> StackRecorder::walk(const ThreadCapture& thread, Taken taken) {
  Trace trace = walker_->walk(thread);
  if (walker_.may_be_renewed()) {
    const bool is_late = std::any_of(trace.frames.begin(), trace.frames.end(),
                                     [&](const Frame& frame) { return walker_.is_newer_code(frame.pc, taken); });
    if (is_late && !renew_walker()) return std::nullopt;
    if (is_late) trace = walker_->walk(thread);
  }
  auto unknown = unknown_place(trace);
  const auto nameless = std::find_if(trace.frames.begin(), trace.frames.end(),
                                     [this](const Frame& frame) { return names_.lacks_name(frame); });
  if (!unknown && nameless != trace.frames.end()) unknown = nameless->pc.raw();
  if (!walker_.is_shared() || walker_.made_ns() >= batch_.begun_ns || !unknown) return trace;
  if (unknown_.size() >= kMostUnknown) unknown_.clear();
  const auto [made_for, is_new] = unknown_.emplace(*unknown, batch_.begun_ns);
  if (!is_new && batch_.begun_ns - made_for->second < kWalkerLife) return trace;
  made_for->second = batch_.begun_ns;
  // The process may have ended: the old walker's frames can no longer be named.
  if (!renew_walker()) return std::nullopt;
  return walker_->walk(thread);
}

void StackRecorder::finish(SampleBatch& batch) {
  for (const RepeatedSample& r : batch.repeats) repeat(r);
  for (const RepeatedSample& r : batch.running) found_running(r);
  for (const ThreadId tid : batch.unseen) leave_unseen(tid);
  for (const UnplacedBytes& bytes : batch.unplaced) count_unplaced(bytes);
  for (const ThreadId tid : batch.lost)
    if (const auto known = threads_.find(tid); known != threads_.end())
      known->second.runs[batch_.source].has_stack = false;
  if (batch.others_ns != 0) repeat_others(batch.others_ns);
  for (const ThreadId tid : batch.ended) end(tid);
}

void StackRecorder::flush() {
  const std::lock_guard lock(shared_.mutex);
  for (auto& [tid, thread] : threads_)
    for (Run& run : thread.runs) write(run);
}

void StackRecorder::end_all() {
  state_ = State::ending;
  (void)take({});
  const std::lock_guard lock(shared_.mutex);
  for (auto& [tid, thread] : threads_) {
    settle(thread);
    for (Run& run : thread.runs) write(run);
  }
  for (const auto& [tid, rounds] : owed_to_new_) shared_.recording.facts.account.lost_to_stops += rounds;
  owed_to_new_.clear();
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
    if (const auto owed = owed_to_new_.extract(tid)) known->second.owed = owed.mapped();
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
  if (sample.time_ns >= options_.end_ns) return;
  RecordingAccount& account = shared_.recording.facts.account;
  const std::uint64_t time = sample.time_ns - std::min(sample.time_ns, options_.start_ns);
  Thread* thread = thread_of(capture.tid, time, &capture);
  if (thread != nullptr) thread->told_ns = sample.time_ns;
  if (!capture.captured || thread == nullptr) {
    if (counts()) (capture.captured ? account.lost_in_tree : account.lost_to_stops)++;
    if (thread != nullptr) thread->runs[batch_.source].has_stack = false;
    return;
  }
  if (walker_.state() == SampleWalker::State::none) return;
  if (!thread->is_named) name_thread(*thread, capture);
  const auto stack = walked(capture, sample.kernel, {sample.time_ns, std::max(sample.time_ns, batch_.taken.until_ns)});
  if (!stack) {
    if (counts() && !sample_must_wait()) account.lost_in_tree++;
    return;
  }
  SampleContext context{.thread = thread->index, .clock = sample.clock, .activity = sample.activity};
  context.gc_pending = walker_.gc_pending();
  context.stop = stack->stop;
  context.system_call = static_cast<std::int32_t>(capture.syscall);
  // The runtime's record of the mode may be newer than the sample; managed code always runs in cooperative mode.
  if (stack->known.is_managed && walker_.is_shared())
    context.gc_mode = GcMode::cooperative;
  else if (const auto cooperative = walker_->is_cooperative(capture))
    context.gc_mode = *cooperative ? GcMode::cooperative : GcMode::preemptive;
  if (counts()) account.walked++;
  const bool is_weighed = options_.rounds_weigh && counts() && sample.clock == SampleClock::wall &&
                          sample.activity == Activity::running && !sample.is_of_round;
  if (is_weighed) return count_running(*thread, {stack->known.stack, context, time});
  if (sample.memory && counts() && options_.memory_use) options_.memory_use(*sample.memory, stack->known.stack);
  if (sample.clock == SampleClock::bytes) return count_bytes(*thread, stack->known.stack, context, sample);
  // Where it is now also counts for the rounds that did not look.
  for (std::uint32_t rounds = 1 + std::exchange(thread->unseen, 0); rounds != 0; rounds--)
    count(thread->runs[batch_.source], stack->known.stack, context, time);
}

void StackRecorder::leave_unseen(ThreadId tid) {
  if (!counts()) return;
  if (const auto known = threads_.find(tid); known != threads_.end()) known->second.unseen++;
}

/// Most samples repeat a known stack: then comparing addresses is enough.
std::optional<StackRecorder::Walked> StackRecorder::walked(const ThreadCapture& capture,
                                                           std::span<const Address> kernel, Taken taken) {
  auto plain = walker_->plain_addresses(capture, addresses_);
  const auto places = [&] { return std::span<const CodeAddress>(addresses_).first(plain.value_or(0)); };
  const auto is_newer = [&](CodeAddress place) { return walker_.is_newer_code(place, taken); };
  if (walker_.may_be_renewed() && std::any_of(places().begin(), places().end(), is_newer)) {
    if (!renew_walker()) return std::nullopt;
    plain = walker_->plain_addresses(capture, addresses_);
  }
  const auto is_other = [&](CodeAddress place) {
    return walker_.is_shared() && !walker_.changes().empty() && is_other_code(place, taken);
  };
  KnownStacks::Key key;
  if (plain && std::none_of(places().begin(), places().end(), is_other)) {
    key = known_stacks_.key(std::span(addresses_).first(*plain), kernel);
    const KnownStack* known = known_stacks_.find(key);
    if (known != nullptr && !known->varies) return Walked{*known, StopReason::end_of_stack};
  }
  auto walked = walk(capture, taken);
  if (!walked) return std::nullopt;
  Trace& trace = *walked;
  const auto other =
      std::find_if(trace.frames.begin(), trace.frames.end(), [&](const Frame& frame) { return is_other(frame.pc); });
  const auto frames = static_cast<std::size_t>(other - trace.frames.begin());
  if (frames != trace.frames.size() && trace.stop == StopReason::end_of_stack) {
    std::vector<bool> others;
    for (const Frame& frame : trace.frames) others.push_back(is_other(frame.pc));
    const auto stack = replaced_stack(trace, others, kernel);
    return stack ? std::optional(Walked{{*stack, false}, trace.stop}) : std::nullopt;
  }
  const bool is_cut = trace.stop == StopReason::stack_truncated && walker_.is_shared() && frames == trace.frames.size();
  const auto outer = is_cut ? outer_of(capture, trace, taken) : std::nullopt;
  bool lasts = true;
  const bool is_plain =
      plain && trace.stop == StopReason::end_of_stack && trace.frames.size() == *plain && other == trace.frames.end();
  auto contexts = generic_contexts(trace);
  std::uint32_t root = 0;
  if (options_.async_callers && !outer)
    if (const auto callers = walker_->async_callers(capture, trace.frames)) {
      const auto node = async_node(*callers);
      if (!node) return std::nullopt;
      root = *node;
      contexts.push_back(root);  // the next time other methods may await it
    }
  if (is_plain && !contexts.empty()) {
    known_stacks_.remember(key, {.varies = true}, true);
    key = known_stacks_.key(places(), joined(kernel, contexts));
    if (const KnownStack* known = known_stacks_.find(key)) return Walked{*known, StopReason::end_of_stack};
  }
  const auto stack = outer ? stack_of(trace, *outer, kernel, lasts) : stack_of(trace, frames, kernel, lasts, root);
  if (!stack) return std::nullopt;
  const bool is_managed = !trace.frames.empty() && trace.frames.front().kind == FrameKind::managed;
  if (other != trace.frames.end()) return Walked{{*stack, false}, StopReason::no_unwind_info};
  const Walked made{{*stack, is_managed}, outer ? outer->stop : trace.stop};
  if (is_plain) known_stacks_.remember(key, made.known, lasts);
  return made;
}

/// The code's owner is not known any more. Its caller was found by the code that is there now, mostly by the frame
/// pointer, which both have. The walk reached the thread's start, so it continued from a frame of this stack; that this
/// frame is the direct caller is inferred.
std::optional<std::uint32_t> StackRecorder::replaced_stack(Trace& trace, const std::vector<bool>& is_other,
                                                           std::span<const Address> kernel) {
  std::optional<std::uint32_t> node = 0;
  bool lasts = true;
  for (std::size_t i = trace.frames.size(); node && i-- > 0;) {
    const bool follows = i > 0 && is_other[i - 1];
    if (follows && !is_other[i]) trace.frames[i].trust = std::max(trace.frames[i].trust, Trust::inferred);
    const bool repeats = is_other[i] && i + 1 < trace.frames.size() && is_other[i + 1];
    if (repeats) continue;
    node = is_other[i] ? box_node(*node, "[code that was replaced]") : frame_node(*node, trace.frames, i, lasts);
  }
  return node ? stack_of(trace, Outer{*node, 0}, kernel, lasts) : std::nullopt;
}

std::optional<std::uint32_t> StackRecorder::box_node(std::uint32_t outer, std::string_view name) {
  Recording& recording = shared_.recording;
  const auto function = recording.function({.name = std::string(name), .kind = CodeKind::unknown});
  const auto frame = function ? recording.frame({.function = *function}) : std::nullopt;
  return frame ? recording.node({outer, *frame}) : std::nullopt;
}

std::optional<std::uint32_t> StackRecorder::frame_node(std::uint32_t outer, std::span<const Frame> frames,
                                                       std::size_t index, bool& lasts) {
  const auto [numbers, is_lasting] = names_.name(frames[index], Walker::callee_of(frames, index));
  lasts = lasts && is_lasting;
  if (numbers.empty()) return std::nullopt;
  std::uint32_t node = outer;
  for (std::size_t n = numbers.size(); n-- > 0;) {
    const auto next = shared_.recording.node({node, numbers[n]});
    if (!next) return std::nullopt;
    node = *next;
  }
  return node;
}

/// Allocations: the runtime's own frames, which are always the same, are left out.
std::size_t StackRecorder::shown_from(const Trace& trace) const {
  if (!options_.allocations) return 0;
  const auto managed = std::find_if(trace.frames.begin(), trace.frames.end(),
                                    [](const Frame& frame) { return frame.kind == FrameKind::managed; });
  return managed == trace.frames.end() ? 0 : static_cast<std::size_t>(managed - trace.frames.begin());
}

std::optional<std::uint32_t> StackRecorder::type_node(std::uint32_t maker, const std::string& type) {
  return box_node(maker, made_name(type));
}

/// One box for the frames left out of a deep stack.
std::optional<std::uint32_t> StackRecorder::folded_node(std::size_t left_out, std::uint32_t outer) {
  return box_node(outer, left_out_name(left_out));
}

/// Outermost first, so that stacks share their callers. Only the innermost `frames` frames are shown; the next one is
/// of code that was replaced, whose owner and callers are not known.
std::optional<std::uint32_t> StackRecorder::stack_of(const Trace& trace, std::size_t frames,
                                                     std::span<const Address> kernel, bool& lasts, std::uint32_t root) {
  const auto begin = frames == trace.frames.size() ? std::optional(root) : box_node(root, "[code that was replaced]");
  if (!begin) return std::nullopt;
  const std::size_t left_out = frames_left_out(frames);
  if (left_out == 0) return stack_of(trace, Outer{*begin, frames}, kernel, lasts);
  std::optional<std::uint32_t> node = begin;
  for (std::size_t rank = 0; node && rank < kOuterShown; rank++)
    node = frame_node(*node, trace.frames, frames - 1 - rank, lasts);
  if (node) node = folded_node(left_out, *node);
  return node ? stack_of(trace, Outer{*node, frames - kOuterShown - left_out}, kernel, lasts) : std::nullopt;
}

std::optional<std::uint32_t> StackRecorder::stack_of(const Trace& trace, const Outer& outer,
                                                     std::span<const Address> kernel, bool& lasts) {
  std::uint32_t node = outer.node;
  const std::size_t from = shown_from(trace);
  for (std::size_t i = outer.inner; i-- > from;) {
    const auto next = frame_node(node, trace.frames, i, lasts);
    if (!next) return std::nullopt;
    node = *next;
  }
  for (std::size_t i = kernel.size(); options_.kernel != nullptr && i-- > 0;) {
    const auto frame = kernel_frame(kernel[i]);
    const auto next = frame ? shared_.recording.node({node, *frame}) : std::nullopt;
    if (!next) return std::nullopt;
    node = *next;
  }
  return node;
}

std::optional<std::uint32_t> StackRecorder::kernel_frame(Address address) {
  if (const auto known = kernel_frames_.find(address); known != kernel_frames_.end()) return known->second;
  Recording& recording = shared_.recording;
  const auto module = recording.module({"[kernel]", "", ""});
  const auto function = recording.function(
      {.name = options_.kernel->name(address), .module = module.value_or(kNoIndex), .kind = CodeKind::kernel});
  const auto frame = function ? recording.frame({.function = *function, .address = address}) : std::nullopt;
  if (kernel_frames_.size() >= kMostKernelFrames) kernel_frames_.clear();
  if (frame) kernel_frames_.emplace(address, *frame);
  return frame;
}

}  // namespace mixstack::record
