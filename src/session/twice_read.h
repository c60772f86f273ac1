// A heap that is read twice while its process runs, where a stop would be too long.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dotnet/holders/holder_reader.h"
#include "session/heap_copy.h"
#include "session/heap_stops.h"

namespace mixstack::session {

/// Both readings fall between two collections, so that no object moves; words that differ are left out. Then threads
/// are stopped for their stacks, and once more for the chains that an answer rests on. Borrows all.
class TwiceRead {
 public:
  struct Parts {
    dotnet::holders::HolderReader& reader;
    HeapStops& stops;
    HeapCopy& copy;  ///< with room for all
    std::string& missing;
    /// Walks old regions and makes room. False: there is no room, or the heap cannot be seen.
    std::function<bool()> prepare;
    /// Reads stacks of a process that stands still.
    std::function<void(const MemoryReader& still, dotnet::holders::HeapMoment& moment)> read_stacks;
  };
  explicit TwiceRead(Parts parts) : parts_(std::move(parts)) {}

  /// Nothing: `HeapStops::why`. The moment borrows this.
  [[nodiscard]] std::optional<dotnet::holders::HeapMoment> read();
  /// The count of collections then.
  [[nodiscard]] std::optional<std::uint64_t> collections() const { return collections_; }
  [[nodiscard]] std::uint64_t changed() const { return parts_.copy.changed(); }

 private:
  class Stacks;
  class Words;
  [[nodiscard]] bool read_both(dotnet::holders::HeapMoment& moment);
  [[nodiscard]] bool is_quiet() const;
  [[nodiscard]] std::vector<bool> verify(std::span<const dotnet::holders::HolderChain> chains);

  Parts parts_;
  std::optional<std::uint64_t> collections_;
};

}  // namespace mixstack::session
