#include "target/live/live_capture.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "target/live/thread_registers.h"

namespace mixstack::target {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSpareThreads = 64;  // born between the list and the stop
constexpr std::size_t kAsked = 32;         // threads whose use of stack is looked at for an estimate
constexpr std::size_t kLeastUse = 8 << 10;
constexpr std::size_t kMostUse = 256 << 10;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostReserved = std::size_t{1} << 36;
const auto kNotRead = fail(ErrorCode::no_such_thread);

#ifndef MADV_POPULATE_WRITE
constexpr int MADV_POPULATE_WRITE = 23;  // Linux 5.14
#endif

/// Page faults of our own while the target stands still would count as its pause.
void touch(std::byte* begin, std::size_t size) {
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + kPage - 1) & ~std::uintptr_t{kPage - 1};
  const auto last = (reinterpret_cast<std::uintptr_t>(begin) + size) & ~std::uintptr_t{kPage - 1};
  if (first >= last || ::madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE) == 0) return;
  for (std::size_t at = 0; at < size; at += kPage) *static_cast<volatile std::byte*>(begin + at) = std::byte{0};
}

}  // namespace

Result<void> LiveCapture::list_threads() {
  std::vector<ThreadId> tids = request_.threads;
  if (tids.empty()) {
    auto all = proc_.tasks();
    if (!all) return fail(all.error());
    tids = std::move(*all);
  }
  if (tids.empty()) return fail(ErrorCode::no_such_process, proc_.pid());
  // Tracing by id would reach any thread of the machine: those of other processes are none of ours to stop.
  const ThreadId first = tids.front();
  std::erase_if(tids, [this](ThreadId tid) { return !proc_.has_task(tid); });
  if (tids.empty())
    return fail(request_.threads.empty() ? ErrorCode::no_such_process : ErrorCode::no_such_thread, first);
  slots_.reserve(tids.size() + kSpareThreads);
  for (const ThreadId tid : tids)
    slots_.push_back({tid, proc_.thread_stat(tid).value_or(ThreadStat{}), kNotRead, kNoCopy});
  return {};
}

/// What the stacks of waiting threads take, on average: how much of the buffer is worth touching beforehand.
std::size_t LiveCapture::usual_stack(const std::vector<Region>& regions) const {
  std::size_t total = 0, asked = 0;
  const std::size_t step = slots_.size() / kAsked + 1;
  for (std::size_t i = 0; i < slots_.size(); i += step) {
    const Address sp = proc_.thread_stack_pointer(slots_[i].tid);
    const AddressRange extent = stack_extent(regions, sp, 0);
    if (sp == 0 || extent.empty()) continue;
    total += static_cast<std::size_t>(std::clamp<Address>(extent.end - sp, kLeastUse, kMostUse));
    asked++;
  }
  return asked == 0 ? 2 * kLeastUse : total / asked + kPage;
}

Result<void> LiveCapture::make_room(const std::vector<Region>& regions) {
  const std::size_t threads = slots_.size() + kSpareThreads;
  const std::size_t initial = std::min<std::size_t>(request_.initial_stack_bytes, 1 << 30) + kRedZone;
  copies_.reserve(threads);
  copy_slots_.reserve(threads);
  reads_.reserve(threads);
  order_.reserve(threads);
  left_reads_.reserve(threads);
  // Address space for all, pages only for what is sure to be used: stacks are packed from the front. Where there is
  // not so much to be had, what is missing is allocated in the stop.
  for (room_ = threads * initial + std::min<std::size_t>(request_.stack_byte_budget, kMostReserved);; room_ /= 2) {
    storage_.emplace_back(new (std::nothrow) std::byte[room_]);
    if (storage_.back() != nullptr) break;
    storage_.pop_back();
    if (room_ < kPage) return fail(ErrorCode::limit_exceeded, room_, ENOMEM);
  }
  touched_ = std::min(room_, slots_.size() * usual_stack(regions));
  touch(storage_.back().get(), touched_);
  return {};
}

Result<void> LiveCapture::seize_all(ThreadStopper& stopper) const {
  stopper.reserve(slots_.size() + kSpareThreads);
  for (const auto& s : slots_) stopper.seize(s.tid, s.stat.state == 'R');
  // Some threads that cannot be had are those threads' misfortune; all of them are the capture's.
  const auto threads = stopper.threads();
  const auto is_refused = [](const StoppedThread& t) {
    return t.phase == StopPhase::refused || t.phase == StopPhase::gone;
  };
  if (!std::all_of(threads.begin(), threads.end(), is_refused)) return {};
  for (const auto& t : threads)
    if (t.error.code != ErrorCode::no_such_thread) return fail(t.error);
  if (request_.threads.empty()) return fail(ErrorCode::no_such_process, proc_.pid());
  return {};
}

void LiveCapture::read_registers(ThreadStopper& stopper) {
  const auto threads = stopper.threads();
  for (std::size_t i = slots_.size(); i < threads.size(); i++)
    slots_.push_back({threads[i].tid, {}, kNotRead, kNoCopy});
  for (std::size_t i = 0; i < threads.size(); i++) {
    if (threads[i].phase != StopPhase::stopped || threads[i].is_foreign) continue;
    auto& registers = slots_[i].registers;
    registers = read_thread_registers(static_cast<pid_t>(threads[i].tid));
    if (registers && registers->syscall < 0) threads[i].is_running = true;
  }
}

void LiveCapture::list_copies(bool of_running, std::span<const StoppedThread> threads) {
  for (std::size_t i = 0; i < threads.size(); i++) {
    const auto& registers = slots_[i].registers;
    if (!registers || threads[i].is_running != of_running) continue;
    slots_[i].copy = copies_.size();
    copies_.push_back({registers->registers.sp(), registers->thread_pointer});
    copy_slots_.push_back(i);
  }
}

void LiveCapture::copy_and_release(ThreadStopper& stopper, const std::vector<Region>& regions) {
  read_registers(stopper);
  list_copies(true, stopper.threads());
  const std::size_t running = copies_.size();
  list_copies(false, stopper.threads());
  plan_stacks(copies_, regions, request_.initial_stack_bytes, request_.stack_byte_budget, order_);
  copy_stacks(0, running, regions);
  if (request_.roots != nullptr) roots_.read(*request_.roots);
  if (!hold_all_) stopper.release_running();
  copy_stacks(running, copies_.size(), regions);
  stopper.release_all();
}

std::span<std::byte> LiveCapture::room_for(std::size_t size) {
  if (size <= room_ - used_) {
    used_ += size;
    return {storage_.front().get() + used_ - size, size};
  }
  storage_.emplace_back(new (std::nothrow) std::byte[size]);
  return {storage_.back().get(), storage_.back() == nullptr ? 0 : size};
}

void LiveCapture::copy_stacks(std::size_t begin, std::size_t end, const std::vector<Region>& regions) {
  for (std::size_t i = begin; i < end; i++) reads_.push_back({copies_[i].begin, room_for(copies_[i].size)});
  memory_.read_ranges(std::span(reads_).subspan(begin, end - begin));
  copy_left_stacks(begin, end, regions);
}

/// The stacks that threads have left for others belong to the same instant.
void LiveCapture::copy_left_stacks(std::size_t begin, std::size_t end, const std::vector<Region>& regions) {
  const std::size_t before = left_reads_.size();
  for (std::size_t i = begin; i < end; i++) {
    const Slot& slot = slots_[copy_slots_[i]];
    const AddressRange own = home_stack(regions, slot.tid == info_.pid, slot.registers->thread_pointer);
    const MemorySlice stack{reads_[i].address, reads_[i].out.first(reads_[i].done)};
    const AddressRange left = left_part(slot.registers->registers, stack, own);
    if (left.empty()) continue;
    const auto size = std::min<Address>(left.size(), request_.initial_stack_bytes + left_budget_);
    left_budget_ -= std::min<Address>(size, left_budget_);
    left_reads_.push_back({left.begin, room_for(static_cast<std::size_t>(size))});
  }
  memory_.read_ranges(std::span(left_reads_).subspan(before));
}

void LiveCapture::give_back_unused_room() {
  if (used_ >= touched_) return;
  const auto base = reinterpret_cast<std::uintptr_t>(storage_.front().get());
  const auto first = (base + used_ + kPage - 1) & ~std::uintptr_t{kPage - 1};
  const auto last = (base + touched_) & ~std::uintptr_t{kPage - 1};
  if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

ThreadCapture LiveCapture::describe(const StoppedThread& t, std::size_t index) {
  Slot& slot = slots_[index];
  ThreadCapture out;
  out.tid = t.tid;
  out.ns_tid = proc_.in_other_pid_namespace() ? proc_.namespace_tid(t.tid) : t.tid;
  if (slot.stat.state == '?') slot.stat = proc_.thread_stat(t.tid).value_or(ThreadStat{});
  out.comm = slot.stat.comm;
  out.kernel_state = slot.stat.state;
  out.pending_signal = t.signal;
  if (slot.registers) {
    const memory::RangeRead& read = reads_[slot.copy];
    out.captured = true;
    out.registers = slot.registers->registers;
    out.syscall = slot.registers->syscall;
    out.stack = {read.address, read.out.first(read.done)};
    out.stack_truncated = is_cut(copies_[slot.copy], read.done);
    return out;
  }
  out.error = t.error.code != ErrorCode::none ? t.error : slot.registers.error();
  if (t.phase != StopPhase::pending) return out;
  const auto stat = proc_.thread_stat(t.tid);
  out.kernel_state = stat ? stat->state : out.kernel_state;
  out.syscall = proc_.thread_syscall(t.tid);
  out.error = {ErrorCode::thread_not_stopped, 0, t.tid};
  return out;
}

void LiveCapture::describe_threads(ThreadStopper& stopper, Capture& capture) {
  const auto threads = stopper.threads();
  const bool whole_process = request_.threads.empty();
  for (std::size_t i = 0; i < threads.size(); i++) {
    const StoppedThread& t = threads[i];
    // A thread that ended by itself before the stop is no part of the instant captured, unless somebody asked for it.
    if (t.is_foreign || (whole_process && !slots_[i].registers && t.phase == StopPhase::gone)) continue;
    if (t.phase == StopPhase::pending) capture.threads_not_stopped++;
    capture.threads.push_back(describe(t, i));
  }
}

Result<Capture> LiveCapture::take(TraceeList& tracees, const std::vector<Region>& regions) {
  if (auto listed = list_threads(); !listed) return fail(listed.error());
  if (auto room = make_room(regions); !room) return fail(room.error());
  if (request_.roots != nullptr) roots_.rehearse(*request_.roots);
  ThreadStopper stopper(proc_, tracees);
  if (auto seized = seize_all(stopper); !seized) return fail(seized.error());

  const auto begin = Clock::now();
  stopper.interrupt_all();
  (void)stopper.wait_until_stopped(begin + request_.stop_timeout, request_.threads.empty());
  if (!stopper.has_execed()) copy_and_release(stopper, regions);
  stopper.release_all();
  const auto end = Clock::now();

  if (stopper.has_execed()) return fail(ErrorCode::process_changed, proc_.pid());
  Capture capture;
  capture.arch = info_.arch;
  capture.pause = end - begin;
  describe_threads(stopper, capture);
  stopper.release_late();
  if (capture.threads.empty()) return fail(ErrorCode::no_such_process, proc_.pid());
  for (const auto& r : left_reads_)
    if (r.done > 0) capture.roots.push_back({r.address, r.out.first(r.done)});
  give_back_unused_room();
  for (auto& s : storage_) capture.storage.push_back(std::move(s));
  roots_.hand_over(capture);
  return capture;
}

}  // namespace mixstack::target
