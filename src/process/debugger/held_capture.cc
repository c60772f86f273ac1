#include "process/debugger/held_capture.h"

#include <algorithm>

namespace mixstack::process {

void HeldCapture::add(ThreadId tid) {
  const auto is_it = [&](const Slot& slot) { return slot.thread.tid == tid; };
  if (std::any_of(slots_.begin(), slots_.end(), is_it)) return;
  Slot slot;
  slot.thread.tid = tid;
  if (request_.vectors) slot.vectors = std::make_unique<VectorBytes>();
  const auto stat = program_.proc.thread_stat(tid).value_or(ThreadStat{});
  slot.thread.comm = stat.comm;
  slot.thread.kernel_state = stat.state;
  slot.thread.ns_tid = program_.proc.in_other_pid_namespace() ? program_.proc.namespace_tid(tid) : tid;
  slots_.push_back(std::move(slot));
}

void HeldCapture::prepare(const std::vector<ThreadId>& threads) {
  if (auto all = program_.read_regions()) regions_ = std::make_shared<const std::vector<Region>>(std::move(*all));
  for (const ThreadId tid : threads) add(tid);
  if (request_.roots != nullptr) roots_.rehearse(*request_.roots);
}

void HeldCapture::copy(const std::vector<ThreadId>& threads,
                       const std::function<Result<RegisterSet>(ThreadId)>& read_registers) {
  for (const ThreadId tid : threads) add(tid);
  for (Slot& slot : slots_) {
    slot.registers = read_registers(slot.thread.tid);
    if (!slot.registers) continue;
    slot.copy = copies_.add(slot.thread.tid, *slot.registers);
    if (!pac_mask_) pac_mask_ = read_pac_mask(static_cast<pid_t>(slot.thread.tid));
    if (slot.vectors) read_thread_vectors(static_cast<pid_t>(slot.thread.tid), *slot.vectors);
  }
  const std::vector<Region> none;
  const std::vector<Region>& regions = regions_ ? *regions_ : none;
  copies_.plan(regions);
  copies_.copy(0, copies_.size(), regions);
  if (request_.roots != nullptr) roots_.read(*request_.roots);
}

ThreadCapture HeldCapture::describe(Slot& slot) const {
  ThreadCapture& t = slot.thread;
  t.captured = true;
  t.registers = slot.registers->registers;
  t.syscall = system_call_number(*slot.registers, program_.memory);
  t.kernel_state = state_at_stop(*slot.registers, t.syscall, t.kernel_state);
  copies_.describe(slot.copy, t);
  if (slot.vectors) t.vectors = shared_vectors(decode_vectors(program_.info.arch, slot.vectors->used()));
  return std::move(t);
}

Capture HeldCapture::take() {
  Capture capture;
  capture.arch = program_.info.arch;
  capture.pac_mask = pac_mask_.value_or(0);
  for (Slot& slot : slots_) {
    if (slot.registers) {
      capture.threads.push_back(describe(slot));
      continue;
    }
    slot.thread.error = slot.registers.error();
    if (slot.thread.error.code == ErrorCode::thread_not_stopped) {
      capture.threads_not_stopped++;
      slot.thread.syscall = program_.proc.thread_syscall(slot.thread.tid);
      slot.thread.kernel_state = program_.proc.thread_stat(slot.thread.tid).value_or(ThreadStat{}).state;
    }
    // A thread that ended by itself before the stop is no part of the instant, unless somebody asked for it.
    if (slot.thread.error.code != ErrorCode::no_such_thread || !request_.threads.empty())
      capture.threads.push_back(std::move(slot.thread));
  }
  copies_.hand_over(capture);
  room_.hand_over(capture);
  roots_.hand_over(capture);
  capture.regions = regions_;
  return capture;
}

}  // namespace mixstack::process
