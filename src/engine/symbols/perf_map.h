// Names of generated code as a process writes them down for perf: the text of /tmp/perf-PID.map.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/symbolizer.h"

namespace mixstack::symbols {

/// Lines of "ADDRESS SIZE NAME", both numbers hexadecimal (Linux, tools/perf/Documentation/jit-interface.txt). Any
/// other line is left out, as is a last one without an end: it may still be written. An entry that a later one overlaps
/// in any byte is gone, for its memory was used again. Immutable.
class PerfMap {
 public:
  static constexpr std::size_t kMostText = std::size_t{64} << 20, kMostEntries = std::size_t{1} << 20;
  static constexpr std::size_t kMostNameBytes = 4096;

  PerfMap() = default;
  /// Where there is more text or are more entries than that, the last count.
  explicit PerfMap(std::string text);
  PerfMap(const PerfMap&) = delete;  // entries refer to the text
  PerfMap& operator=(const PerfMap&) = delete;

  struct Entry {
    AddressRange range;
    std::string name;  ///< control characters escaped, at most kMostNameBytes
  };
  [[nodiscard]] std::optional<Entry> find(Address address) const;
  [[nodiscard]] std::size_t size() const { return lines_.size(); }

 private:
  struct Line {
    Address begin = 0;
    std::uint32_t size = 0;
    std::uint32_t name = 0, name_size = 0;  ///< place in the text
  };
  [[nodiscard]] std::optional<Line> parse(std::size_t begin, std::size_t end) const;

  std::string text_;
  std::vector<Line> lines_;  ///< ascending, disjoint
};

}  // namespace mixstack::symbols
