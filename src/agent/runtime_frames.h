// The lists of calls out of managed code that the runtime keeps for each of its threads.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string_view>

#include "agent/clr.h"
#include "self_walk/outer_frames.h"
#include "self_walk/zeroed_pages.h"

namespace mixstack::agent {

/// Where the list lies, as the runtime's own description of its structures tells.
struct FrameListLayout {
  std::uint32_t first = 0, os_id = 0;        ///< of Thread
  std::uint32_t next = 0;                    ///< of Frame, whose first word says of which kind it is
  std::uint32_t sp = 0, caller = 0, fp = 0;  ///< of InlinedCallFrame
  std::uint64_t inlined_call = 0;            ///< its kind

  /// From the JSON of a descriptor. Nothing where it does not say (before .NET 10).
  [[nodiscard]] static std::optional<FrameListLayout> in(std::string_view json);
};

/// A method that calls native code (P/Invoke) links an InlinedCallFrame into its thread's list for the time of the
/// call: its stack pointer, its frame pointer and where the call returns to. Other Frames are of calls into the
/// runtime, whose own code walks can step through; they are passed over.
///
/// The runtime tells which Thread object is whose; the object must say the same before its list is believed. An object
/// is removed here before the runtime frees it. Bounded: what finds no room is not known, and its walks end where they
/// are stuck.
/// `began` and `ended` are for all threads, `next` for signal handlers.
class RuntimeFrames final : public self_walk::OuterFrames {
 public:
  explicit RuntimeFrames(const std::optional<FrameListLayout>& layout);

  /// The runtime tells that a thread of its own is the kernel's `tid` now.
  void began(const clr::Thread& thread);
  void ended(clr::Id thread);
  /// It was there before; unless it ended meanwhile.
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
  std::deque<clr::Id> ended_;  ///< the last ones
};

}  // namespace mixstack::agent
