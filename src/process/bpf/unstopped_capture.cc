#include "process/bpf/unstopped_capture.h"

#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "base/words/words.h"
#include "process/bpf/signature_bits.h"
#include "process/live/mapped_code.h"

namespace mixstack::bpf {
namespace {

using namespace std::chrono_literals;

constexpr int kLeastLooks = 3;
constexpr auto kFirstNap = 500us;  // for those that ran; doubled each time

}  // namespace

/// One instant: the threads that did not run from one look to the next.
struct UnstoppedCapture::Instant {
  Instant(const process::ProcessView& view, const CaptureRequest& request)
      : copies(view.memory, view.info, request, room), roots(view.memory, view.memory.in_stop()) {}
  struct Thread {
    ThreadId tid = 0, ns_tid = 0;
    char state = '?';
    std::size_t copy = 0;
    bool stood_still = false;
  };
  process::StackRoom room;
  process::StackCopies copies;
  process::RootReads roots;
  std::vector<Thread> threads;
  std::shared_ptr<const std::vector<Region>> regions;
  std::chrono::nanoseconds late{0};
};

Result<void> UnstoppedCapture::list_threads() {
  std::vector<ThreadId> tids = request_.threads;
  if (tids.empty()) {
    auto all = view_.proc.tasks();
    if (!all) return fail(all.error());
    tids = std::move(*all);
  } else {
    std::erase_if(tids, [this](ThreadId tid) { return !view_.proc.has_task(tid); });
    if (tids.empty()) return fail(ErrorCode::no_such_thread, request_.threads.front());
  }
  for (const ThreadId tid : tids) missing_.emplace(tid, '?');
  return {};
}

/// One round of the iterator: which threads wait, and with which registers.
Result<void> UnstoppedCapture::learn(Instant& instant) {
  const auto round = iterator_.read();
  if (!round) return fail(round.error());
  for (const ThreadState& thread : *round) {
    if (thread.look == Look::fresh) {
      auto registers = thread.registers();
      if (registers)
        known_[thread.tid] = {*registers, std::string(thread.comm)};
      else
        known_.erase(thread.tid);  // what was known of it is older than its stack
    } else if (thread.look != Look::unchanged) {
      known_.erase(thread.tid);
    }
    auto at = missing_.find(thread.tid);
    if (at == missing_.end()) continue;
    at->second = thread.kernel_state;
    const auto known = known_.find(thread.tid);
    if (known == known_.end()) continue;
    instant.threads.push_back({thread.tid, thread.ns_tid, thread.kernel_state,
                               instant.copies.add(thread.tid, known->second.registers), false});
  }
  return {};
}

/// The last look: a thread that has run since the first one is not of this instant.
Result<void> UnstoppedCapture::keep_what_stood_still(Instant& instant) {
  const auto round = iterator_.check();
  if (!round) return fail(round.error());
  std::set<ThreadId> still;
  for (const ThreadState& thread : *round)
    if (thread.look == Look::unchanged) still.insert(thread.tid);
  for (Instant::Thread& thread : instant.threads) {
    thread.stood_still = still.count(thread.tid) != 0;
    if (thread.stood_still) missing_.erase(thread.tid);
  }
  return {};
}

Result<std::unique_ptr<UnstoppedCapture::Instant>> UnstoppedCapture::look() {
  auto instant = std::make_unique<Instant>(view_, request_);
  auto regions = view_.read_regions();
  if (!regions) return fail(regions.error());
  const auto code = process::mapped_code(*regions);
  instant->regions = std::make_shared<const std::vector<Region>>(std::move(*regions));
  if (request_.roots != nullptr) instant->roots.rehearse(*request_.roots);
  const std::size_t initial = std::min<std::size_t>(request_.initial_stack_bytes, 1 << 30) + process::kRedZone;
  if (auto room = instant->room.prepare(missing_.size() * initial + request_.stack_byte_budget, 0, room_); !room)
    return fail(room.error());
  instant->copies.reserve(missing_.size());
  if (auto learned = learn(*instant); !learned) return fail(learned.error());
  instant->late = Clock::now() - begin_;
  instant->copies.plan(*instant->regions);
  instant->copies.copy(0, instant->copies.size(), *instant->regions);
  if (request_.roots != nullptr) instant->roots.read(*request_.roots);
  // A library mapped meanwhile may lie where stacks return to: nothing is kept of this instant.
  auto after = view_.read_regions();
  if (after && process::mapped_code(*after) != code) return instant;
  if (auto kept = keep_what_stood_still(*instant); !kept) return fail(kept.error());
  return instant;
}

Capture UnstoppedCapture::hand_over(Instant& instant) const {
  Capture capture;
  capture.arch = view_.info.arch;
  capture.consistency = Consistency::not_stopped;
  capture.pac_mask = signature_bits(*instant.regions);
  capture.regions = instant.regions;
  for (const Instant::Thread& thread : instant.threads) {
    if (!thread.stood_still) continue;
    const KnownThread& known = known_.at(thread.tid);
    ThreadCapture out;
    out.tid = thread.tid;
    out.ns_tid = thread.ns_tid;
    out.comm = known.comm;
    out.kernel_state = thread.state;
    out.captured = true;
    out.registers = known.registers.registers;
    out.syscall = process::system_call_number(known.registers, view_.memory);
    out.late = instant.late;
    instant.copies.describe(thread.copy, out);
    capture.threads.push_back(std::move(out));
  }
  instant.copies.hand_over(capture);
  instant.room.hand_over(capture);
  instant.roots.hand_over(capture);
  return capture;
}

ThreadCapture UnstoppedCapture::describe_running(ThreadId tid) const {
  ThreadCapture out;
  out.tid = tid;
  out.ns_tid = view_.proc.in_other_pid_namespace() ? view_.proc.namespace_tid(tid) : tid;
  out.error = {ErrorCode::no_such_thread, 0, tid};
  const auto stat = view_.proc.thread_stat(tid);
  if (!stat) return out;
  out.comm = stat->comm;
  out.kernel_state = stat->state;
  out.error = {ErrorCode::thread_not_stopped, 0, words::kWasRunning};
  return out;
}

Result<Capture> UnstoppedCapture::take() {
  if (auto listed = list_threads(); !listed) return fail(listed.error());
  std::vector<Capture> captures;
  auto nap = std::chrono::duration_cast<std::chrono::microseconds>(kFirstNap);
  for (int looks = 0; !missing_.empty(); looks++) {
    const bool is_over = Clock::now() - begin_ >= request_.stop_timeout;
    if (looks >= kLeastLooks && is_over) break;
    if (looks > 0) std::this_thread::sleep_for(std::exchange(nap, nap * 2));
    auto instant = look();
    if (!instant) return fail(instant.error());
    if (looks == 0) (*instant)->late = 0ns;
    Capture capture = hand_over(**instant);
    if (looks == 0 || !capture.threads.empty()) captures.push_back(std::move(capture));
  }
  Capture all = std::move(captures.front());
  for (std::size_t i = 1; i < captures.size(); i++) all.late.push_back(std::move(captures[i]));
  for (const auto& [tid, state] : missing_) {
    ThreadCapture running = describe_running(tid);
    // A thread that ended by itself is left out, unless it was asked for.
    if (running.error.code == ErrorCode::no_such_thread && request_.threads.empty()) continue;
    all.threads_not_stopped++;
    all.threads.push_back(std::move(running));
  }
  if (all.threads.empty() && all.late.empty()) return fail(ErrorCode::no_such_process, view_.info.pid);
  return all;
}

}  // namespace mixstack::bpf
