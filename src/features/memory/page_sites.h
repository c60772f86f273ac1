// Which sites the pages belong to that came within a time: what a process did to its address space, joined with the
// pages that are there before and after.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "features/memory/account.h"
#include "features/memory/range_map.h"
#include "features/record/memory_event.h"
#include "mixstack/native_growth.h"
#include "mixstack/recording.h"

namespace mixstack::memory_use {

/// An event and the stack it came from (a node of the recording).
struct NativeEvent {
  record::MemoryEvent event;
  std::uint32_t stack = 0;
};

/// All that was read. Ranges are in order, and none overlaps another.
struct NativeLook {
  std::vector<AddressRange> before, after;  ///< pages that are there
  std::uint64_t before_ns = 0;              ///< when `before` had been read (CLOCK_MONOTONIC)
  std::uint64_t begin_ns = 0, end_ns = 0;   ///< of the time that was looked at
  LabelledSpace labels_before, labels_after;
  Address first_break = 0;  ///< end of the heap of brk at the beginning; 0: not known
  std::vector<NativeEvent> events;
  std::uint64_t page_bytes = 4096, period = 1;
};

/// Fills in everything that follows from the look: sums, labels and sites. Sums always match: each page that came is in
/// one label, and in one site, the managed heap or a file.
void join_pages(const NativeLook& look, const Recording& recording, NativeGrowth& out);

}  // namespace mixstack::memory_use
