// Reads a runtime's roots in as few system calls as possible.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/memory/overlay_memory.h"
#include "base/memory/process_memory.h"
#include "mixstack/target.h"

namespace mixstack::process {

/// A list of objects costs one system call for each link when it is followed in a stopped process. So the source is
/// asked twice: before the stop, where everything it reads is only noted, and in the stop, where all of that has been
/// read again with one call and what is new costs extra. Only what was read in the stop is answered.
class RootReads {
 public:
  /// Borrows both: the memory of the running process, and how to read it in the stop.
  RootReads(const MemoryReader& running, const memory::BulkMemory& in_stop) : running_(running), in_stop_(in_stop) {}

  /// Before the stop: asks `source` and makes room for what it read and answered.
  void rehearse(RootSource& source);
  /// The same, for a source that will read what an earlier one read (`ranges`).
  void expect(std::vector<AddressRange> ranges) { expected_ = make_reads(std::move(ranges)); }
  /// All that was expected.
  [[nodiscard]] std::vector<AddressRange> ranges() const;
  /// Whether the stop needed nothing but the expected ranges.
  [[nodiscard]] bool was_expected() const { return extra_.empty(); }
  /// For another stop of the same process, with the same expected ranges.
  [[nodiscard]] RootReads again() const;
  /// In the stop.
  void read(RootSource& source);
  /// After the stop: moves the slices, in the order of the source's answer, and their bytes into the capture. A range
  /// that could not be read is missing or shorter.
  void hand_over(Capture& capture);

 private:
  /// Sorted and merged ranges with a buffer of `storage_` each, already touched.
  [[nodiscard]] std::vector<memory::RangeRead> make_reads(std::vector<AddressRange> ranges);
  [[nodiscard]] std::optional<MemorySlice> find(AddressRange range) const;

  const MemoryReader& running_;
  const memory::BulkMemory& in_stop_;
  std::vector<std::unique_ptr<std::byte[]>> storage_;
  std::vector<memory::RangeRead> expected_;
  std::vector<memory::RangeRead> extra_;
  std::vector<AddressRange> answer_;
};

}  // namespace mixstack::process
