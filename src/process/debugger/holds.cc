#include "process/debugger/holds.h"

namespace mixstack::process {

using namespace std::chrono_literals;

bool Holds::wait_until_still(TracedProcess& process, Clock::time_point deadline, std::uint64_t guard) {
  constexpr auto kSlice = 2ms;  // between looks for a main thread that has ended
  auto next_look = Clock::now() + (guard == 0 ? kSlice : 0ms);
  auto is_still = [&] {
    if (const auto now = Clock::now(); now >= next_look) {
      process.find_ended_main_thread();
      next_look = now + kSlice;
    }
    return process.threads.straggler(guard) == 0;
  };
  return loop_.wait_until(is_still, deadline);
}

Result<void> Holds::pause(TracedProcess& process, Clock::time_point deadline) {
  process.hold_all();
  process.report_if_still();
  const bool in_time = wait_until_still(process, deadline);
  if (auto there = process.status.check(); !there) return there;
  if (!in_time) return fail(ErrorCode::thread_not_stopped, process.threads.straggler());
  return {};
}

Result<void> Holds::pause(TracedProcess& process, ThreadId tid, Clock::time_point deadline) {
  Tracee* t = process.threads.find(tid);
  if (t == nullptr || t->state == Tracee::State::ended) return fail(ErrorCode::no_such_thread, tid);
  t->held = true;
  process.publish();
  process.threads.interrupt_wanted();
  auto is_still = [&] {
    t = process.threads.find(tid);
    return t == nullptr || t->is_still();
  };
  const bool in_time = loop_.wait_until(is_still, deadline);
  if (auto there = process.status.check(); !there) return there;
  if (t == nullptr) return fail(ErrorCode::no_such_thread, tid);
  if (!in_time) return fail(ErrorCode::thread_not_stopped, tid);
  return {};
}

Result<std::uint64_t> Holds::add_guard(TracedProcess& process, std::span<const ThreadId> tids,
                                       Clock::time_point deadline, bool must_stop) {
  for (const ThreadId tid : tids)
    if (!process.threads.contains(tid)) return fail(ErrorCode::no_such_thread, tid);
  const std::uint64_t guard = process.threads.add_guard(tids);
  process.threads.interrupt_wanted();
  const bool in_time = wait_until_still(process, deadline, guard);  // others' stragglers are not waited for
  const auto there = process.status.check();
  if (there && (in_time || !must_stop)) return guard;
  const ThreadId late = process.threads.straggler(guard);
  process.remove_guard(guard);
  return there ? fail(ErrorCode::thread_not_stopped, late) : fail(there.error());
}

}  // namespace mixstack::process
