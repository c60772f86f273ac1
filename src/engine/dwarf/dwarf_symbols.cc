#include "engine/dwarf/dwarf_symbols.h"

#include "engine/symbols/demangle.h"

namespace mixstack::symbols {
namespace {

/// If the symbol table was stripped, takes the function's name from the debug information.
void take_own_name(const SourcePlace& place, std::uint64_t address, std::uint64_t beyond, SymbolInfo& own) {
  if (!own.name.empty() || place.function.empty() || place.entry == 0 || place.entry > address) return;
  own.raw_name = printable(place.function);
  own.name = printable(demangle(place.function));
  own.offset = address - place.entry + beyond;
}

}  // namespace

std::vector<SourcePlace> LineTables::at(const std::shared_ptr<const images::ElfImage>& image, const std::string& path,
                                        const images::PathOpener& open, SymbolTables& symbols, std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  auto known = tables_.find(image.get());
  if (known == tables_.end()) {
    if (tables_.size() >= kMost || budget_.time.count() <= 0) return {};
    const auto names = symbols.get(image, path, open, SymbolTables::Effort::of_this_machine);
    auto found = images::find_debug_information(image, path, open, names->debug_file());
    auto table = LineChild::start(std::move(found.image), std::move(found.shared), packed_, budget_);
    known = tables_.emplace(image.get(), Entry{image, table ? std::move(*table) : nullptr}).first;
  }
  return known->second.table ? known->second.table->at(address) : std::vector<SourcePlace>{};
}

std::vector<SymbolInfo> add_source(const std::vector<SourcePlace>& places, std::uint64_t address, std::uint64_t beyond,
                                   SymbolInfo& own) {
  std::vector<SymbolInfo> inlined;
  for (std::size_t i = 0; i + 1 < places.size(); i++) {
    SymbolInfo place;
    place.file = printable(places[i].file);
    place.line = places[i].line;
    place.raw_name = printable(places[i].function);
    place.name = printable(demangle(places[i].function));
    if (place.name.empty()) continue;
    place.module = own.module;
    place.module_path = own.module_path;
    place.build_id = own.build_id;
    place.inlining = Inlining::debug_information;
    inlined.push_back(std::move(place));
  }
  if (places.empty()) return inlined;
  own.file = printable(places.back().file);
  own.line = places.back().line;
  take_own_name(places.back(), address, beyond, own);
  return inlined;
}

std::optional<SymbolInfo> DwarfSymbols::describe(const Frame& frame) {
  inlined_.clear();
  auto info = elf_.describe(frame);
  if (!info || !lines_ || frame.module >= modules_.modules().size()) return info;
  const auto image = modules_.image(frame.module);
  if (!image) return info;
  const auto places = lines_->at(*image, modules_.modules()[frame.module].path, open_, *symbols_, frame.module_offset);
  inlined_ = add_source(places, frame.module_offset, frame.pc.raw() - frame.pc.lookup(), *info);
  return info;
}

std::vector<SymbolInfo> DwarfSymbols::describe_inlined(const Frame&) { return std::move(inlined_); }

}  // namespace mixstack::symbols
