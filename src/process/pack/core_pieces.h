// Which memory a core of ours holds.
#pragma once

#include <vector>

#include "process/core/core_file.h"
#include "process/pack/core_layout.h"
#include "process/pack/memory_image.h"

namespace mixstack::pack {

/// Recorded bytes, neighbours joined into one piece, but not those of files that the process cannot write to with
/// others. Owns the bytes of the pieces.
class RecordedPieces {
 public:
  RecordedPieces(MemoryImage image, std::span<const Region> regions);
  [[nodiscard]] std::vector<CorePiece> pieces() const;

 private:
  struct Run {
    Address begin = 0;
    std::vector<std::byte> bytes;
    bool is_public = false;
    [[nodiscard]] Address end() const { return begin + bytes.size(); }
  };
  std::vector<Run> runs_;
};

/// `ranges`, ascending, without those of `pieces` and without `hole`; together with `pieces`, in order.
[[nodiscard]] std::vector<CorePiece> with_ranges(const std::vector<CorePiece>& pieces,
                                                 const std::vector<AddressRange>& ranges, AddressRange hole);

/// The pages in memory that no file holds: private memory that the process writes to, and code made while it runs.
/// Pages in swap are counted and left alone, as are all pages if the kernel does not tell (`unknown`).
struct PresentMemory {
  std::vector<AddressRange> ranges;
  std::uint64_t swapped = 0, unknown = 0;
};
[[nodiscard]] PresentMemory present_memory(std::uint32_t pid, std::span<const Region> regions);

/// The address ranges that a core holds.
[[nodiscard]] std::vector<AddressRange> dumped_ranges(const process::CoreFile& core);

}  // namespace mixstack::pack
