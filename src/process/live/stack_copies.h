// Copies of the stacks of threads that stand still at one instant.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <vector>

#include "mixstack/target.h"
#include "process/kernel/register_set.h"
#include "process/live/guest_memory.h"
#include "process/live/stack_plan.h"

namespace mixstack::process {

/// A piece of memory that one capture after the other uses.
struct StackBytes {
  explicit StackBytes(std::size_t n) : bytes(new (std::nothrow) std::byte[n]), size(bytes == nullptr ? 0 : n) {}
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size;
  std::size_t touched = 0;           ///< bytes at the front whose pages are there
  std::atomic<bool> is_lent{false};  ///< to a capture that has not ended
};

/// Memory for copies: one large piece, whose front is touched before the stop since our own page faults would lengthen
/// the pause, and more pieces when that is used up.
class StackRoom {
 public:
  /// Address space for `most` bytes, less if there is not so much, and pages for `likely` of them. `kept` is used if it
  /// fits and is not lent; afterwards it is the piece to keep for the next time. Errors: limit_exceeded.
  [[nodiscard]] Result<void> prepare(std::size_t most, std::size_t likely, std::shared_ptr<StackBytes>& kept);
  /// Empty when there is no memory.
  [[nodiscard]] std::span<std::byte> take(std::size_t size);
  [[nodiscard]] std::size_t used() const { return used_; }
  /// Gives back what was touched and not used, and hands the rest over.
  void hand_over(Capture& capture);

 private:
  std::shared_ptr<StackBytes> room_;
  std::vector<std::unique_ptr<std::byte[]>> more_;
  std::size_t used_ = 0;
};

/// One per instant. Between `plan` and the end of the last `copy` the threads stand still. A stack is copied as far as
/// its pages are there; pages that are not leave a hole, which cannot be read afterwards.
class StackCopies {
 public:
  /// Borrows all.
  StackCopies(const GuestMemory& memory, const TargetInfo& info, const CaptureRequest& request, StackRoom& room)
      : memory_(memory),
        info_(info),
        request_(request),
        room_(room),
        budget_(request.stack_byte_budget),
        left_budget_(budget_) {}

  void reserve(std::size_t threads);
  /// Answers the number of the copy.
  std::size_t add(ThreadId tid, const RegisterSet& registers);
  [[nodiscard]] std::size_t size() const { return copies_.size(); }
  /// Plans the copies from `first` on: the others were copied, and have used their part of the budget.
  void plan(const std::vector<Region>& regions, std::size_t first = 0);
  void copy(std::size_t begin, std::size_t end, const std::vector<Region>& regions);

  /// Stack and `stack_truncated`.
  void describe(std::size_t index, ThreadCapture& out) const;
  /// Adds the memory behind holes, and the stacks that threads have left for other stacks.
  void hand_over(Capture& capture) const;

 private:
  struct Owner {
    ThreadId tid = 0;
    Registers registers;
  };
  using Regions = std::span<const Region>;
  [[nodiscard]] static bool is_readable(memory::PageMap::State state, Address at, Regions regions);
  [[nodiscard]] std::size_t end_of_pages_that_are_there(const StackCopy& copy, Address at, Regions regions) const;
  [[nodiscard]] std::size_t begin_at_a_page_that_is_there(StackCopy& copy, Regions regions) const;
  void list_behind_holes(std::size_t index, const std::vector<Region>& regions);
  void list_left_stack(std::size_t index, const std::vector<Region>& regions);

  const GuestMemory& memory_;
  const TargetInfo& info_;
  const CaptureRequest& request_;
  StackRoom& room_;
  std::vector<StackCopy> copies_;
  std::vector<Owner> owners_;
  std::vector<std::size_t> order_;
  std::vector<memory::RangeRead> reads_;
  std::vector<memory::RangeRead> more_reads_;
  std::size_t budget_;       ///< of bytes beyond the initial ones
  std::size_t left_budget_;  ///< for stacks that threads have left, beyond their initial bytes
};

}  // namespace mixstack::process
