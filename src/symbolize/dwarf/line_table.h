// Source lines and inlined functions of native code, from the debug information of one file.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "symbolize/dwarf/debug_sections.h"

namespace mixstack::symbolize {

/// One of the functions whose code an address is.
struct SourcePlace {
  std::string function;     ///< as the linker would call it, else its plain name; empty where nobody says
  std::uint64_t entry = 0;  ///< where its code begins; 0: it is inlined, or not known
  std::string file;         ///< where it stands: in the line of the address, or of the call inlined there; may be empty
  std::uint32_t line = 0;
};

/// What looking for lines may cost, whatever the debug information says. Shared by the files of a session.
struct LineBudget {
  std::chrono::nanoseconds time{std::chrono::seconds(2)};
  std::uint64_t program_bytes = 8 << 20;  ///< of line programs: libdw makes up to 100 bytes of each
};

/// Read with libdw. All input is hostile: what is damaged has no lines. Not thread-safe.
class LineTable {
 public:
  static constexpr std::uint64_t kMaxProgram = 2 << 20;  ///< of one unit
  static constexpr std::size_t kMaxRanges = 1 << 20, kMaxEntries = 1 << 18;
  static constexpr unsigned kMaxDepth = 64;

  /// `budget` is borrowed. Errors: those of DebugSections.
  [[nodiscard]] static Result<std::unique_ptr<LineTable>> open(std::shared_ptr<const object::ElfImage> image,
                                                               std::shared_ptr<const object::ElfImage> shared,
                                                               DebugSections::Packed packed, LineBudget& budget);
  ~LineTable();

  /// The functions that the code at a link-time address was made from, innermost first; the last one is the function
  /// that has the code. Empty: nothing is known.
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
  std::vector<UnitRange> units_;  ///< ascending, of units that .debug_aranges does not tell; made when first needed
  bool is_indexed_ = false;
  std::vector<std::uint64_t> programs_;  ///< of units whose lines are read, or too large: their offsets, ascending
};

}  // namespace mixstack::symbolize
