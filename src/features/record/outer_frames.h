// Stacks longer than their copy: the remainder is read from the thread's memory if it has not changed there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "mixstack/frame.h"
#include "mixstack/memory_reader.h"
#include "mixstack/target.h"

namespace mixstack::record {

/// One thread's outer frames, outermost last, and the memory in which they were found.
///
/// A sample's frames beyond its copy are those found in memory now if nothing moved in between. The proof: the last
/// bytes of the copy equal the memory now, and the outer part equals what was read before the sample. A thread that
/// returned from a frame and came back in between has left other bytes: arguments, saved registers, return addresses.
class OuterFrames {
 public:
  static constexpr std::size_t kMostBytes = 16u << 20;
  static constexpr std::size_t kCompared = 2048;  ///< bytes of the copy, at its outer end

  /// Reads the memory from `from` to `end` again. Frames whose memory has changed are forgotten. False: unreadable.
  [[nodiscard]] bool read(const MemoryReader& memory, Address from, Address end, std::uint64_t now_ns);
  /// Whether the memory was read at that time (ns) or later, from `from` on.
  [[nodiscard]] bool is_of(std::uint64_t time_ns, Address from) const;
  /// Whether the outer end of a copied stack, from `from` on, is what was read.
  [[nodiscard]] bool goes_on_from(const MemorySlice& copy, Address from) const;
  /// The copy and what was read beyond it.
  [[nodiscard]] std::vector<std::byte> whole(const MemorySlice& copy) const;
  /// Keeps the frames of a walk of `whole`, innermost first, and its stop reason.
  void learn(std::vector<Frame> frames, StopReason stop);
  void forget();
  /// Index of the frame with which a walk of a copy ended. Nothing: it is not among these.
  [[nodiscard]] std::optional<std::size_t> find(const Frame& frame) const;
  /// Index of the innermost frame at or above `above` that was found in memory read before that time (ns) and is still
  /// there.
  [[nodiscard]] std::optional<std::size_t> first_above(Address above, std::uint64_t before_ns) const;

  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }
  [[nodiscard]] StopReason stop() const { return stop_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size() + frames_.capacity() * sizeof(Frame); }
  /// For each frame, the number in the recording's tree of its path from the root; 0: not asked yet. One list for each
  /// number of frames left out of the middle.
  [[nodiscard]] std::vector<std::uint32_t>& nodes(std::size_t left_out);

 private:
  static constexpr std::size_t kMostFolds = 64;

  Address base_ = 0;
  std::vector<std::byte> bytes_;
  std::uint64_t read_ns_ = 0;
  std::uint64_t learned_ns_ = 0;  ///< when the memory was read that the frames were found in
  std::size_t older_ = 0;         ///< of these, so many outermost ones were found before,
  std::uint64_t older_ns_ = 0;    ///< at that time
  std::vector<Frame> frames_;     ///< by ascending sp
  StopReason stop_ = StopReason::end_of_stack;
  std::map<std::size_t, std::vector<std::uint32_t>> nodes_;
};

/// The deep stacks of the threads of a process. Bounded. One thread at a time.
class OuterFramesOfThreads {
 public:
  [[nodiscard]] OuterFrames& of(ThreadId tid);
  void forget(ThreadId tid) { threads_.erase(tid); }

  /// Walking a whole deep stack takes milliseconds: whether the time budget allows one more. Report its cost to
  /// `spent`.
  [[nodiscard]] bool may_walk(std::uint64_t now_ns);
  void spent(std::uint64_t ns) { budget_ns_ -= static_cast<std::int64_t>(ns); }

 private:
  static constexpr std::size_t kMostThreads = 256, kMostBytes = 256u << 20;
  static constexpr std::int64_t kMostBudget = 200'000'000;  ///< ns
  static constexpr std::int64_t kShare = 5;                 ///< a fifth of the time

  std::unordered_map<ThreadId, OuterFrames> threads_;
  std::int64_t budget_ns_ = kMostBudget;
  std::uint64_t budget_from_ns_ = 0;
};

/// The end of the stack around an address: of the readable and writable memory that follows without a gap. 0: none.
[[nodiscard]] Address stack_end_of(std::span<const Region> regions, Address address);

}  // namespace mixstack::record
