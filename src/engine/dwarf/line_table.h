// Source lines and inlined functions of native code, from the debug information of one file.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/dwarf/debug_sections.h"

namespace mixstack::symbols {

/// One of the functions to which the code at an address belongs.
struct SourcePlace {
  std::string function;     ///< linkage name, else plain name; empty where there is none
  std::uint64_t entry = 0;  ///< the start of its code; 0: it is inlined, or not known
  std::string file;         ///< source file of the address, or of the call inlined there; may be empty
  std::uint32_t line = 0;
};

/// Limits for looking up lines, whatever the debug information says. Shared by the files of a session.
struct LineBudget {
  std::chrono::nanoseconds time{std::chrono::seconds(2)};
  std::uint64_t program_bytes = 8 << 20;  ///< of line programs: libdw makes up to 100 bytes of each
};

/// Read with libdw. All input is hostile: damaged parts have no lines. Not thread-safe.
class LineTable {
 public:
  static constexpr std::uint64_t kMaxProgram = 2 << 20;  ///< of one unit
  static constexpr std::size_t kMaxRanges = 1 << 20, kMaxEntries = 1 << 18;
  static constexpr unsigned kMaxDepth = 64;

  /// `budget` is borrowed. Errors: those of DebugSections.
  [[nodiscard]] static Result<std::unique_ptr<LineTable>> open(std::shared_ptr<const images::ElfImage> image,
                                                               std::shared_ptr<const images::ElfImage> shared,
                                                               DebugSections::Packed packed, LineBudget& budget);
  ~LineTable();

  /// The functions of the code at a link-time address, innermost first; the last one is the function that has the code.
  /// Empty: nothing is known.
  [[nodiscard]] std::vector<SourcePlace> at(std::uint64_t address);

 private:
  class Search;
  struct UnitRange {
    std::uint64_t begin = 0, end = 0, unit = 0;  ///< offset of the unit's entry
  };
  LineTable(std::unique_ptr<DebugSections> sections, LineBudget& budget);
  [[nodiscard]] std::optional<Dwarf_Die> unit_at(std::uint64_t address);
  void index_units();
  [[nodiscard]] bool may_read_lines(Dwarf_Die& unit);

  std::unique_ptr<DebugSections> sections_;
  LineBudget& budget_;
  std::vector<UnitRange> units_;  ///< ascending; made when .debug_aranges lacks an address
  bool is_indexed_ = false;
  std::vector<std::uint64_t> programs_;  ///< offsets of line programs that were read, ascending
};

}  // namespace mixstack::symbols
