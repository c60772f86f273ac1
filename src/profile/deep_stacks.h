// Stacks that are longer than what was copied of them: the rest is read from the thread's memory where it has not
// moved.
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

namespace mixstack::profile {

/// What is remembered of one thread: its outer frames, outermost last, and the memory that they were found in.
///
/// A sample's frames beyond its copy are those of the memory now if nothing moved in between. What proves that: the
/// last bytes of the copy are what is there now, and the outer part is the same as when it was read before the sample.
/// A thread that returned from a frame and came back in between has left other bytes: arguments, saved registers,
/// return addresses.
class DeepStack {
 public:
  static constexpr std::size_t kMostBytes = 16u << 20;
  static constexpr std::size_t kCompared = 2048;  ///< bytes of the copy, at its outer end

  /// Reads the memory from `from` to `end` anew. Frames whose memory has changed are forgotten. False: it cannot be
  /// read.
  [[nodiscard]] bool read(const MemoryReader& memory, Address from, Address end, std::uint64_t now_ns);
  /// Whether the memory was read at that time (ns) or later, from `from` on.
  [[nodiscard]] bool is_of(std::uint64_t time_ns, Address from) const;
  /// Whether the outer end of a copied stack, from `from` on, is what was read.
  [[nodiscard]] bool goes_on_from(const MemorySlice& copy, Address from) const;
  /// The copy and what was read beyond it.
  [[nodiscard]] std::vector<std::byte> whole(const MemorySlice& copy) const;
  /// Those of a walk of `whole`, innermost first, and how it ended.
  void learn(std::vector<Frame> frames, StopReason stop);
  void forget();
  /// Index of the frame that a walk of a copy ended with. Nothing: it is not among them.
  [[nodiscard]] std::optional<std::size_t> find(const Frame& frame) const;
  /// Index of the innermost one beyond `above` that was found in memory that was read before that time (ns), and that
  /// is there still.
  [[nodiscard]] std::optional<std::size_t> first_above(Address above, std::uint64_t before_ns) const;

  [[nodiscard]] const std::vector<Frame>& frames() const { return frames_; }
  [[nodiscard]] StopReason stop() const { return stop_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size() + frames_.capacity() * sizeof(Frame); }
  /// Numbers in the recording's tree, of each frame with those outside of it; 0: not asked yet. By how many frames are
  /// left out of the middle.
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
class DeepStacks {
 public:
  [[nodiscard]] DeepStack& of(ThreadId tid);
  void forget(ThreadId tid) { threads_.erase(tid); }

  /// Walking a deep stack as a whole takes milliseconds: whether there is time for one more. `spent` afterwards.
  [[nodiscard]] bool may_walk(std::uint64_t now_ns);
  void spent(std::uint64_t ns) { budget_ns_ -= static_cast<std::int64_t>(ns); }

 private:
  static constexpr std::size_t kMostThreads = 256, kMostBytes = 256u << 20;
  static constexpr std::int64_t kMostBudget = 200'000'000;  ///< ns
  static constexpr std::int64_t kShare = 5;                 ///< this part of the time

  std::unordered_map<ThreadId, DeepStack> threads_;
  std::int64_t budget_ns_ = kMostBudget;
  std::uint64_t budget_from_ns_ = 0;
};

/// The end of the stack that an address lies in: of the memory around it that may be written, without a gap.
[[nodiscard]] Address stack_end_of(std::span<const Region> regions, Address address);

}  // namespace mixstack::profile
