#include "process/live/late_look.h"

#include <unordered_set>
#include <utility>

namespace mixstack::process {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLookAgain = 50ms;  // at those that ran while they were looked at

using ThreadIds = std::unordered_set<ThreadId>;

/// Without threads in an uninterruptible sleep: whatever blocks them may block a look, too.
std::vector<ThreadId> threads_without_processor(const Capture& capture) {
  std::vector<ThreadId> found;
  for (const ThreadCapture& t : capture.threads)
    if (!t.captured && t.error.code == ErrorCode::thread_not_stopped && t.kernel_state == 'R') found.push_back(t.tid);
  return found;
}

/// Moves the threads of `wanted` that `part` has seen into a late capture.
void take_over(Capture part, std::chrono::nanoseconds since_instant, ThreadIds& wanted, Capture& capture) {
  std::erase_if(part.threads, [&wanted](const ThreadCapture& t) { return !t.captured || wanted.erase(t.tid) == 0; });
  if (part.threads.empty()) return;
  for (ThreadCapture& t : part.threads) t.late += since_instant;
  part.consistency = Consistency::not_stopped;
  part.threads_not_stopped = 0;
  capture.late.push_back(std::move(part));
}

}  // namespace

bool look_at_late_threads(Capture& capture, const CaptureRequest& request, Clock::time_point instant, LateLook& look) {
  CaptureRequest wanted = request;
  wanted.threads = threads_without_processor(capture);
  wanted.stop_timeout = kLookAgain;
  wanted.goes_on = true;
  if (wanted.threads.empty()) return false;
  if (!look.prepare()) return true;
  const auto since_instant = Clock::now() - instant;
  auto seen = look.look(wanted);
  if (!seen) return true;
  const ThreadIds all(wanted.threads.begin(), wanted.threads.end());
  ThreadIds left = all;
  std::vector<Capture> later = std::exchange(seen->late, {});
  take_over(std::move(*seen), since_instant, left, capture);
  for (Capture& part : later) take_over(std::move(part), since_instant, left, capture);
  const auto is_seen = [&](const ThreadCapture& t) { return all.contains(t.tid) && !left.contains(t.tid); };
  capture.threads_not_stopped -= static_cast<std::uint32_t>(std::erase_if(capture.threads, is_seen));
  return true;
}

}  // namespace mixstack::process
