#include "process/live/stack_copies.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "base/system/own_pages.h"
#include "process/kernel/memory_map.h"

namespace mixstack::process {
namespace {

using State = memory::PageMap::State;
constexpr std::size_t kPage = 4096;
constexpr std::size_t kMostHoles = 64;       // per stack
constexpr std::size_t kMostKept = 16 << 20;  // pages that stay between two captures
constexpr std::size_t kMostReserved = std::size_t{1} << 36;

void touch(std::byte* begin, std::size_t size) {
  if (base::populate(begin, size)) return;
  for (std::size_t at = 0; at < size; at += kPage) *static_cast<volatile std::byte*>(begin + at) = std::byte{0};
}

}  // namespace

Result<void> StackRoom::prepare(std::size_t most, std::size_t likely, std::shared_ptr<StackBytes>& kept) {
  most = std::min(most, kMostReserved);
  const bool fits = kept != nullptr && kept->size >= most && !kept->is_lent.load(std::memory_order_acquire);
  for (std::size_t size = most; !fits; size /= 2) {
    kept = std::make_shared<StackBytes>(size);
    if (kept->size != 0) break;
    if (size < kPage) return fail(ErrorCode::limit_exceeded, size, ENOMEM);
  }
  room_ = kept;
  likely = std::min(room_->size, likely);
  if (room_->touched < likely) touch(room_->bytes.get() + room_->touched, likely - room_->touched);
  room_->touched = std::max(room_->touched, likely);
  return {};
}

std::span<std::byte> StackRoom::take(std::size_t size) {
  if (room_ != nullptr && size <= room_->size - used_) {
    used_ += size;
    return {room_->bytes.get() + used_ - size, size};
  }
  more_.emplace_back(new (std::nothrow) std::byte[size]);
  return {more_.back().get(), more_.back() == nullptr ? 0 : size};
}

void StackRoom::hand_over(Capture& capture) {
  for (auto& s : more_) capture.storage.push_back(std::move(s));
  if (room_ == nullptr) return;
  room_->touched = std::max(room_->touched, used_);
  const std::size_t keep = std::max(used_, kMostKept);
  if (keep < room_->touched) {
    const auto base = reinterpret_cast<std::uintptr_t>(room_->bytes.get());
    const auto first = (base + keep + kPage - 1) & ~std::uintptr_t{kPage - 1};
    const auto last = (base + room_->touched) & ~std::uintptr_t{kPage - 1};
    if (first < last) (void)::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
    room_->touched = keep;
  }
  room_->is_lent = true;
  std::byte* const bytes = room_->bytes.get();
  std::shared_ptr<void> until_then(
      bytes, [room = std::move(room_)](void*) { room->is_lent.store(false, std::memory_order_release); });
  capture.storage.emplace_back(bytes, BytesOwner(std::move(until_then)));
}

void StackCopies::reserve(std::size_t threads) {
  copies_.reserve(threads);
  owners_.reserve(threads);
  order_.reserve(threads);
  reads_.reserve(threads);
  more_reads_.reserve(threads);
}

std::size_t StackCopies::add(ThreadId tid, const RegisterSet& registers) {
  copies_.push_back({registers.registers.sp(), registers.thread_pointer});
  owners_.push_back({tid, registers.registers});
  return copies_.size() - 1;
}

void StackCopies::plan(const std::vector<Region>& regions, std::size_t first) {
  budget_ = plan_stacks(std::span(copies_).subspan(first), regions, request_.initial_stack_bytes, budget_, order_);
}

bool StackCopies::is_readable(State state, Address at, Regions regions) {
  return GuestMemory::answers_at_once(state, state == State::shared ? find_region(regions, at) : nullptr);
}

/// A look-up may end early, so pages are looked up run by run.
std::size_t StackCopies::end_of_pages_that_are_there(const StackCopy& copy, Address at, Regions regions) const {
  const Address end = copy.begin + copy.size;
  while (at < end) {
    const auto run = memory_.pages().run({at, end});
    if (!is_readable(run.state, at, regions)) break;
    at = run.end;
  }
  return static_cast<std::size_t>(at - copy.begin);
}

/// The red zone, or the frame itself, may begin on a page never touched: skips such pages. Answers how many present
/// bytes follow.
std::size_t StackCopies::begin_at_a_page_that_is_there(StackCopy& copy, Regions regions) const {
  for (std::size_t tries = 0; copy.size > 0 && tries < kMostHoles; tries++) {
    const auto run = memory_.pages().run({copy.begin, copy.begin + copy.size});
    if (is_readable(run.state, copy.begin, regions)) return end_of_pages_that_are_there(copy, run.end, regions);
    copy.size -= static_cast<std::size_t>(run.end - copy.begin);
    copy.begin = run.end;
  }
  return 0;
}

void StackCopies::copy(std::size_t begin, std::size_t end, const std::vector<Region>& regions) {
  for (std::size_t i = begin; i < end; i++) {
    const std::size_t limit = begin_at_a_page_that_is_there(copies_[i], regions);
    reads_.push_back({copies_[i].begin, room_.take(copies_[i].size), 0, limit});
  }
  memory_.read_present(std::span(reads_).subspan(begin, end - begin));
  const std::size_t before = more_reads_.size();
  for (std::size_t i = begin; i < end; i++) {
    if (copies_[i].stack_end != 0 && reads_[i].done < copies_[i].size) list_behind_holes(i, regions);
    list_left_stack(i, regions);
  }
  memory_.read_present(std::span(more_reads_).subspan(before));
}

/// Pages of private memory that were never touched hold nothing that could be missed. (A thread's static TLS lies at
/// the end of its stack, and much of it may be such.)
void StackCopies::list_behind_holes(std::size_t index, const std::vector<Region>& regions) {
  StackCopy& copy = copies_[index];
  const memory::RangeRead& read = reads_[index];
  const bool has_room = read.out.size() == copy.size;
  const Region* region = find_region(regions, copy.sp);
  const bool is_anonymous = region != nullptr && !region->shared && region->inode == 0;
  if (!has_room || !is_anonymous || read.done < read.wanted()) copy.truncated = true;
  const Address end = copy.begin + copy.size;
  Address at = copy.begin + read.done;
  for (std::size_t i = 0; has_room && at < end; i++) {
    const auto run = memory_.pages().run({at, end});
    copy.truncated |= run.state == State::swapped || i >= kMostHoles;
    if (i >= kMostHoles) return;
    const auto offset = static_cast<std::size_t>(at - copy.begin);
    if (is_readable(run.state, at, regions))
      more_reads_.push_back({at, read.out.subspan(offset, static_cast<std::size_t>(run.end - at))});
    at = run.end;
  }
}

/// The stacks that threads have left for others belong to the same instant.
void StackCopies::list_left_stack(std::size_t index, const std::vector<Region>& regions) {
  const Owner& owner = owners_[index];
  const AddressRange own = home_stack(regions, owner.tid == info_.pid, copies_[index].thread_pointer);
  const MemorySlice stack{reads_[index].address, reads_[index].out.first(reads_[index].done)};
  AddressRange left = left_part(owner.registers, stack, own);
  if (left.empty()) return;
  const auto size = std::min<Address>(left.size(), request_.initial_stack_bytes + left_budget_);
  left_budget_ -= std::min<Address>(size, left_budget_);
  left.end = left.begin + size;
  const auto room = room_.take(static_cast<std::size_t>(size));
  for (std::size_t i = 0; !room.empty() && !left.empty() && i < kMostHoles; i++) {
    const auto run = memory_.pages().run(left);
    const auto offset = room.size() - static_cast<std::size_t>(left.size());
    if (is_readable(run.state, left.begin, regions))
      more_reads_.push_back({left.begin, room.subspan(offset, static_cast<std::size_t>(run.end - left.begin))});
    left.begin = run.end;
  }
}

void StackCopies::describe(std::size_t index, ThreadCapture& out) const {
  if (index >= reads_.size()) {  // the stop ended before its turn
    out.stack = {copies_[index].begin, {}};
    out.stack_truncated = true;
    return;
  }
  const memory::RangeRead& read = reads_[index];
  out.stack = {read.address, read.out.first(read.done)};
  out.stack_truncated = copies_[index].stack_end == 0 ? read.done == copies_[index].size : copies_[index].truncated;
}

void StackCopies::hand_over(Capture& capture) const {
  for (const auto& r : more_reads_)
    if (r.done > 0) capture.roots.push_back({r.address, r.out.first(r.done)});
}

}  // namespace mixstack::process
