// The stages of a dump that walk stacks.
//
// Bounds: DumpOptions::frame_budget; kMostExplicitFrames; kMostCompleted threads are stopped again, for kLargerCopies
// each.
#include <algorithm>
#include <array>

#include "session/dump_in_progress.h"
#include "session/fair_budget.h"
#include "session/fault_registers.h"
#include "session/unloaded_code.h"

namespace mixstack::session {
namespace {

constexpr std::size_t kMostCompleted = 64;  // threads whose stacks are asked for once more
constexpr std::array<std::size_t, 3> kLargerCopies{1 << 20, 16 << 20, 64 << 20};
constexpr std::size_t kManyThreads = 1000;
constexpr std::size_t kMostExplicitFrames = 1 << 19;  // twice as many as one thread may have

/// Walks all threads within the frame budget. Answers how many stacks the budget cut.
std::size_t walk_threads(CaptureWalk& walk, const std::vector<ThreadCapture>& threads, const DumpOptions& options,
                         std::vector<ThreadDump>& out) {
  const bool is_rich = options.walk.keep_registers || options.walk.explain;
  const std::size_t all = options.frame_budget / (is_rich ? 4 : 1);
  const std::size_t fewest = std::clamp<std::size_t>(all / 2 / std::max<std::size_t>(threads.size(), 1), 8, 256);
  FairBudget budget(all, threads.size(), fewest);
  std::size_t cut = 0;
  for (const ThreadCapture& thread : threads) {
    const auto most = static_cast<std::uint32_t>(std::min<std::size_t>(budget.next(), UINT32_MAX));
    out.push_back(walk.walk(thread, most));
    Trace& trace = out.back().trace;
    if (threads.size() > kManyThreads) trace.frames.shrink_to_fit();  // most stacks are shorter than what is reserved
    budget.took(trace.frames.size());
    if (trace.stop == StopReason::max_frames && trace.stop_error.code == ErrorCode::limit_exceeded) cut++;
  }
  return cut;
}

Diagnosis frames_cut(std::size_t budget, std::size_t stacks) {
  return {{ErrorCode::limit_exceeded, 0, budget},
          "frames of all threads",
          "more than the " + std::to_string(budget) + " that a dump may have (--frame-budget): " +
              std::to_string(stacks) + (stacks == 1 ? " stack is cut" : " stacks are cut")};
}

/// Walks all threads but the late ones, which are in `dump` already.
void walk_captured(CaptureWalk& walk, const Capture& capture, const DumpOptions& options, ProcessDump& dump) {
  const std::size_t late = dump.threads.size();
  const std::size_t over_budget = walk_threads(walk, capture.threads, options, dump.threads);
  if (over_budget != 0) dump.diagnoses.push_back(frames_cut(options.frame_budget, over_budget));
  for (std::size_t i = 0; dump.target.crash && late + i < dump.threads.size(); i++)
    find_fault_registers(dump.target, dump.threads[late + i], walk.walker(), walk.input_for(capture.threads[i]),
                         walk.memory());
  if (!capture.late.empty())
    std::stable_sort(dump.threads.begin(), dump.threads.end(),
                     [](const ThreadDump& a, const ThreadDump& b) { return a.tid < b.tid; });
  for (Diagnosis& d : walk.take_diagnoses()) dump.diagnoses.push_back(std::move(d));
}

/// A second stop of one thread, with more of its stack.
bool complete_cut_stack(DumpInProgress& at, ThreadDump& thread, std::size_t stack_bytes) {
  CaptureRequest request;
  request.threads = {thread.tid};
  request.initial_stack_bytes = stack_bytes;
  request.stack_byte_budget = stack_bytes;
  request.stop_timeout = request.late_timeout = at.options.late_timeout;
  request.goes_on = true;
  request.vectors = at.options.vectors;
  request.roots = at.worker().prepare_roots();
  const auto begin = std::chrono::steady_clock::now();
  auto again = at.from.target.capture(request);
  if (!again || again->threads.size() != 1 || !again->threads.front().captured || !again->regions) return false;
  at.worker().forget_memory();
  again->threads.front().late = thread.late + (begin - at.captured_at);
  CaptureWalk walk(*again, at.from.target, at.worker(), *again->regions, *at.elf, at.from.steppers, at.options.walk);
  ThreadFacts facts = std::move(thread.facts);
  thread = walk.walk(again->threads.front());
  thread.facts = std::move(facts);
  doubt_code_of_another_time(thread, at.worker().facts()->mappings(), image_mappings(*again->regions));
  at.capture.late.push_back(std::move(*again));
  return true;
}

/// For a stack whose end is not known (a fiber's, a coroutine's) the common stop copies only what such stacks usually
/// need, so that no thread stands still for a large arena. Answers whether there was any.
bool complete_cut_stacks(DumpInProgress& at) {
  std::size_t completed = 0;
  for (ThreadDump& thread : at.dump.threads) {
    if (thread.trace.stop != StopReason::stack_truncated || completed >= kMostCompleted) continue;
    if (completed++ == 0) {
      // Names and facts are read by the first capture, before others are added to it.
      for (const auto& runtime : at.runtimes()) runtime->name_threads(at.dump.threads);
      take_facts(at, true);
    }
    for (const std::size_t bytes : kLargerCopies) {
      const std::size_t before = thread.trace.frames.size();
      if (bytes > std::max(at.options.stack_byte_budget, kLargerCopies.front())) break;
      if (!complete_cut_stack(at, thread, bytes)) break;
      if (thread.trace.stop != StopReason::stack_truncated || thread.trace.frames.size() <= before) break;
    }
  }
  return completed != 0;
}

}  // namespace

/// Late captures are walked first: runtimes know only the capture bound last, and the common one is needed after.
void stages::walk_late(DumpInProgress& at) {
  for (Capture& late : at.capture.late) {
    late.frozen = at.capture.frozen;
    CaptureWalk walk(late, at.from.target, at.worker(), *late.regions, *at.elf, at.from.steppers, at.options.walk);
    walk.bound_explicit_frames(kMostExplicitFrames);
    const std::size_t before = at.dump.threads.size();
    if (const std::size_t cut = walk_threads(walk, late.threads, at.options, at.dump.threads); cut != 0)
      at.dump.diagnoses.push_back(frames_cut(at.options.frame_budget, cut));
    const auto code = image_mappings(*late.regions);
    const bool is_look = late.consistency == Consistency::not_stopped && at.dump.consistency != late.consistency;
    for (std::size_t i = before; i < at.dump.threads.size(); i++) {
      at.dump.threads[i].not_stopped = is_look;
      doubt_code_of_another_time(at.dump.threads[i], at.worker().facts()->mappings(), code);
    }
    for (Diagnosis& d : walk.take_diagnoses()) at.dump.diagnoses.push_back(std::move(d));
  }
}

void stages::walk(DumpInProgress& at) {
  CaptureWalk& walk = at.walk.emplace(at.capture, at.from.target, at.worker(), at.regions(), *at.elf, at.from.steppers,
                                      at.options.walk);
  at.dump.threads.reserve(at.capture.threads.size());
  walk.bound_explicit_frames(kMostExplicitFrames);
  for (const auto& runtime : at.runtimes()) runtime->begin_names(at.beside);
  walk_captured(walk, at.capture, at.options, at.dump);
}

void stages::complete(DumpInProgress& at) {
  if (!at.is_frozen() && complete_cut_stacks(at)) at.walk->bind();
}

}  // namespace mixstack::session
