// Copies of all objects of a heap that may refer to others, in the image of a search for holders.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/memory/process_memory.h"
#include "dotnet/holders/holder_reader.h"
#include "session/heap_stops.h"

namespace mixstack::session {

/// Regions that were walked before are copied in parts, large and pinned objects by their headers, all else whole and
/// walked later. Borrows all. Not thread-safe.
class HeapCopy {
 public:
  using Kept = KeptRegions<dotnet::holders::RegionObjects>;
  using Time = HeapTask::Time;

  HeapCopy(dotnet::holders::HolderReader& reader, const MemoryReader& memory, Kept& kept)
      : reader_(reader), memory_(memory), kept_(kept) {}

  struct Cost {
    std::uint64_t kept = 0;  ///< bytes of all copies
    std::uint64_t pieces = 0;
    std::uint64_t read = 0;  ///< bytes that may be read in the time that the copying takes
  };
  /// That of all regions. `epoch`: as of KeptRegions.
  [[nodiscard]] Cost cost_of(const dotnet::objects::GcRegions& gc, std::optional<std::uint64_t> epoch);
  /// Room for so many, and for what else is kept; forgets all copies.
  void reserve(std::uint64_t bytes, std::uint64_t pieces);
  void clear();
  /// False: the time is over, there is no room, or memory cannot be read.
  [[nodiscard]] bool copy(const dotnet::objects::GcRegions& gc, std::optional<std::uint64_t> epoch, Time end);
  /// Bytes of something else, as they are now.
  [[nodiscard]] bool keep(AddressRange range);
  /// All objects, after the copying; forgets what was walked before. False: a region is not as it must be, all else
  /// stays; `why` receives the reason.
  [[nodiscard]] bool walk(const dotnet::objects::GcRegions& gc, std::vector<dotnet::holders::RegionObjects>& regions,
                          std::string& why);
  /// Reads all copies again, and makes words zero that have changed. False: something cannot be read.
  [[nodiscard]] bool compare();
  [[nodiscard]] std::uint64_t copied() const { return copied_; }
  /// Words that `compare` found changed.
  [[nodiscard]] std::uint64_t changed() const { return changed_; }

 private:
  struct Part {
    dotnet::objects::GcRegion region;
    dotnet::holders::RegionObjects* kept = nullptr;
    dotnet::holders::RegionObjects objects{};
    bool is_copied = false;
  };
  [[nodiscard]] bool copy_range(AddressRange range, Time end);
  [[nodiscard]] bool copy_ranges(std::span<const AddressRange> ranges, Time end);
  [[nodiscard]] bool read_each(std::vector<memory::RangeRead>& reads);
  [[nodiscard]] std::size_t copy_near(std::span<const AddressRange> ranges);

  dotnet::holders::HolderReader& reader_;
  const MemoryReader& memory_;
  Kept& kept_;
  std::vector<Part> parts_;
  std::vector<std::byte> near_;  ///< pieces that lie near each other, with what is between
  std::uint64_t copied_ = 0, changed_ = 0;
};

}  // namespace mixstack::session
