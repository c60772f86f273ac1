// Native frames with their source lines and the functions inlined there.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "engine/dwarf/line_child.h"
#include "engine/images/debug_file.h"
#include "engine/images/module_map.h"
#include "engine/symbols/elf_symbols.h"
#include "mixstack/symbolizer.h"

namespace mixstack::symbols {

/// Debug information by image, shared by the processes of a session as their images are. Thread-safe.
class LineTables {
 public:
  explicit LineTables(DebugSections::Packed packed) : packed_(packed) {}
  /// The source places of the code at a link-time address, as LineTable::at. `symbols` knows the image's debug file.
  [[nodiscard]] std::vector<SourcePlace> at(const std::shared_ptr<const images::ElfImage>& image,
                                            const std::string& path, const images::PathOpener& open,
                                            SymbolTables& symbols, std::uint64_t address);

 private:
  struct Entry {
    std::shared_ptr<const images::ElfImage> image;  // kept, so that its address is not reused for another image
    std::unique_ptr<LineChild> table;               // null: it has none
  };
  static constexpr std::size_t kMost = 1024;  // images; others have no lines
  DebugSections::Packed packed_;
  std::mutex mutex_;
  LineBudget budget_;
  std::unordered_map<const images::ElfImage*, Entry> tables_;
};

/// Adds the answer of LineTable::at to a name: the line, and the function where no symbol names it. Answers the
/// functions inlined there, innermost first. `address` is the place looked up, `beyond` the distance from it to the
/// address to print.
[[nodiscard]] std::vector<SymbolInfo> add_source(const std::vector<SourcePlace>& places, std::uint64_t address,
                                                 std::uint64_t beyond, SymbolInfo& own);

/// Names frames as ElfSymbols does, and adds their place in the source. Borrows both; not thread-safe.
class DwarfSymbols final : public NameProvider {
 public:
  /// `lines` may be null: then there are none.
  DwarfSymbols(ElfSymbols& elf, const images::ModuleMap& modules, images::PathOpener open,
               std::shared_ptr<SymbolTables> symbols, std::shared_ptr<LineTables> lines)
      : elf_(elf), modules_(modules), open_(std::move(open)), symbols_(std::move(symbols)), lines_(std::move(lines)) {}

  [[nodiscard]] std::string_view provider_name() const override { return elf_.provider_name(); }
  [[nodiscard]] std::optional<SymbolInfo> describe(const Frame& frame) override;
  [[nodiscard]] std::vector<SymbolInfo> describe_inlined(const Frame& frame) override;

 private:
  ElfSymbols& elf_;
  const images::ModuleMap& modules_;
  images::PathOpener open_;
  std::shared_ptr<SymbolTables> symbols_;
  std::shared_ptr<LineTables> lines_;
  std::vector<SymbolInfo> inlined_;  ///< of the frame described last
};

}  // namespace mixstack::symbols
