#include "target/debug/held_capture.h"

#include <fcntl.h>

#include <algorithm>
#include <new>

#include "target/memory_map.h"

namespace mixstack::target {

void HeldCapture::add(ThreadId tid) {
  const auto is_it = [&](const Slot& slot) { return slot.thread.tid == tid; };
  if (std::any_of(slots_.begin(), slots_.end(), is_it)) return;
  Slot slot;
  slot.thread.tid = tid;
  const auto stat = program_.proc.thread_stat(tid).value_or(ThreadStat{});
  slot.thread.comm = stat.comm;
  slot.thread.kernel_state = stat.state;
  slot.thread.ns_tid = program_.proc.in_other_pid_namespace() ? program_.proc.namespace_tid(tid) : tid;
  slots_.push_back(std::move(slot));
}

void HeldCapture::prepare(const std::vector<ThreadId>& threads) {
  if (const auto fd = program_.proc.open_memory_file("maps", O_RDONLY))
    if (auto mapped = read_memory_map(fd->get())) regions_ = std::move(*mapped);
  for (const ThreadId tid : threads) add(tid);
  if (request_.roots != nullptr) roots_.rehearse(*request_.roots);
}

std::span<std::byte> HeldCapture::room_for(std::size_t size) {
  storage_.emplace_back(new (std::nothrow) std::byte[size]);
  return {storage_.back().get(), storage_.back() == nullptr ? 0 : size};
}

void HeldCapture::plan(const std::function<Result<RegisterSet>(ThreadId)>& read_registers) {
  for (std::size_t i = 0; i < slots_.size(); i++) {
    Slot& slot = slots_[i];
    slot.registers = read_registers(slot.thread.tid);
    if (!slot.registers) continue;
    StackCopy copy;
    copy.sp = slot.registers->registers.sp();
    copy.thread_pointer = slot.registers->thread_pointer;
    copies_.push_back(copy);
    copied_.push_back(i);
  }
  std::vector<std::size_t> order;
  plan_stacks(copies_, regions_, request_.initial_stack_bytes, request_.stack_byte_budget, order);
}

void HeldCapture::copy(const std::vector<ThreadId>& threads,
                       const std::function<Result<RegisterSet>(ThreadId)>& read_registers) {
  for (const ThreadId tid : threads) add(tid);
  plan(read_registers);
  std::size_t total = 0;
  for (const auto& c : copies_) total += c.size;
  auto room = room_for(total);
  for (const auto& c : copies_) {
    const std::size_t size = std::min(c.size, room.size());
    reads_.push_back({c.begin, room.first(size), 0});
    room = room.subspan(size);
  }
  program_.memory.read_ranges(reads_);
  copy_left_stacks();
  if (request_.roots != nullptr) roots_.read(*request_.roots);
}

void HeldCapture::copy_left_stacks() {
  std::size_t budget = request_.stack_byte_budget;
  for (std::size_t i = 0; i < copies_.size(); i++) {
    const Slot& slot = slots_[copied_[i]];
    const AddressRange own = home_stack(regions_, slot.thread.tid == program_.info.pid, slot.registers->thread_pointer);
    const AddressRange left =
        left_part(slot.registers->registers, {reads_[i].address, reads_[i].out.first(reads_[i].done)}, own);
    if (left.empty()) continue;
    const auto size = std::min<Address>(left.size(), request_.initial_stack_bytes + budget);
    budget -= std::min<Address>(size, budget);
    left_reads_.push_back({left.begin, room_for(static_cast<std::size_t>(size)), 0});
  }
  program_.memory.read_ranges(left_reads_);
}

ThreadCapture HeldCapture::describe(Slot& slot, std::size_t copy) {
  ThreadCapture& t = slot.thread;
  const memory::RangeRead& read = reads_[copy];
  t.captured = true;
  t.registers = slot.registers->registers;
  t.syscall = slot.registers->syscall;
  t.stack = {read.address, read.out.first(read.done)};
  t.stack_truncated = is_cut(copies_[copy], read.done);
  return std::move(t);
}

Capture HeldCapture::take() {
  Capture capture;
  capture.arch = program_.info.arch;
  for (std::size_t i = 0, copy = 0; i < slots_.size(); i++) {
    Slot& slot = slots_[i];
    if (slot.registers) {
      capture.threads.push_back(describe(slot, copy++));
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
  for (const auto& r : left_reads_)
    if (r.done > 0) capture.roots.push_back({r.address, r.out.first(r.done)});
  for (auto& s : storage_) capture.storage.push_back(std::move(s));
  roots_.hand_over(capture);
  return capture;
}

}  // namespace mixstack::target
