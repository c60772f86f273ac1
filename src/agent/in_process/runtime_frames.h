// The runtime's per-thread lists of calls out of managed code (explicit Frames).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>

#include "agent/in_process/clr.h"
#include "engine/self_walk/outer_frames.h"
#include "engine/self_walk/zeroed_pages.h"

namespace mixstack::agent {

/// Offsets of the list's members, from the runtime's contract descriptor.
struct FrameListLayout {
  std::uint32_t first = 0, os_id = 0;        ///< of Thread
  std::uint32_t next = 0;                    ///< of Frame, whose first word is its kind
  std::uint32_t sp = 0, caller = 0, fp = 0;  ///< of InlinedCallFrame
  std::uint64_t inlined_call = 0;            ///< the kind InlinedCallFrame

  /// From the JSON of a descriptor. Nothing: the descriptor lacks them (before .NET 10).
  [[nodiscard]] static std::optional<FrameListLayout> in(std::string_view json);
};

/// A method that calls native code (P/Invoke) links an InlinedCallFrame into its thread's list during the call: its
/// stack pointer, its frame pointer and its return address. Other Frames are of calls into the runtime, whose own code
/// walks can step through; they are skipped.
///
/// Callbacks tell the Thread object of each TID; a list is used only if the object holds the same TID. An object is
/// removed here before the runtime frees it. Bounded: a thread without room is unknown, and its stuck walks end there.
/// `began` and `ended` may be called by any thread, `next` in signal handlers.
class RuntimeFrames final : public self_walk::OuterFrames {
 public:
  explicit RuntimeFrames(const std::optional<FrameListLayout>& layout);

  /// Callback: a runtime thread got its TID.
  void began(const clr::Thread& thread);
  void ended(clr::Id thread);
  /// Adds a thread that existed before, unless it has ended meanwhile.
  void was_there(const clr::Thread& thread);

  [[nodiscard]] bool next(Address sp, AddressRange stack, const MemoryReader& memory, Address& place,
                          self_walk::OuterFrame& out) const noexcept override;

 private:
  static constexpr std::size_t kSlots = 8192, kMostTries = 32, kMostEnded = 256;
  struct Slot {
    std::atomic<std::uint64_t> tid, thread;  ///< 0, 0: was never used
  };
  [[nodiscard]] static std::size_t start(std::uint64_t tid) { return tid * 0x9e3779b97f4a7c15u >> 51; }
  void add(const clr::Thread& thread);
  /// The first Frame of the calling thread's list, 0: not known.
  [[nodiscard]] Address first(const MemoryReader& memory) const;

  const std::optional<FrameListLayout> layout_;
  self_walk::ZeroedPages pages_;
  Slot* slots_;  ///< in `pages_`; null: nothing is known
  std::mutex mutex_;
  std::deque<clr::Id> ended_;  ///< the last kMostEnded ones
};

}  // namespace mixstack::agent
