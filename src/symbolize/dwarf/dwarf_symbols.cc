#include "symbolize/dwarf/dwarf_symbols.h"

#include "symbolize/demangle.h"

namespace mixstack::symbolize {

std::vector<SourcePlace> LineTables::at(const std::shared_ptr<const object::ElfImage>& image, const std::string& path,
                                        const object::PathOpener& open, SymbolTables& symbols, std::uint64_t address) {
  const std::lock_guard lock(mutex_);
  auto known = tables_.find(image.get());
  if (known == tables_.end()) {
    if (tables_.size() >= kMost || budget_.time.count() <= 0) return {};
    const auto names = symbols.get(image, path, open, SymbolTables::Effort::of_this_machine);
    auto found = object::find_debug_information(image, path, open, names->debug_file());
    auto table = LineChild::start(std::move(found.image), std::move(found.shared), packed_, budget_);
    known = tables_.emplace(image.get(), Entry{image, table ? std::move(*table) : nullptr}).first;
  }
  return known->second.table ? known->second.table->at(address) : std::vector<SourcePlace>{};
}

std::optional<SymbolInfo> DwarfSymbols::describe(const Frame& frame) {
  inlined_.clear();
  auto info = elf_.describe(frame);
  if (!info || !lines_ || frame.module >= modules_.modules().size()) return info;
  const auto image = modules_.image(frame.module);
  if (!image) return info;
  const auto places = lines_->at(*image, modules_.modules()[frame.module].path, open_, *symbols_, frame.module_offset);
  for (std::size_t i = 0; i < places.size(); i++) {
    const bool is_own = i + 1 == places.size();
    SymbolInfo inner;
    SymbolInfo& place = is_own ? *info : inner;
    place.file = printable(places[i].file);
    place.line = places[i].line;
    if (is_own) {
      take_own_name(frame, places[i], place);
      break;
    }
    place.raw_name = printable(places[i].function);
    place.name = printable(demangle(places[i].function));
    if (place.name.empty()) continue;
    place.module = info->module;
    place.module_path = info->module_path;
    place.build_id = info->build_id;
    place.inlining = Inlining::debug_information;
    inlined_.push_back(std::move(inner));
  }
  return info;
}

/// Debug information names functions that symbol tables do not: where they were stripped.
void DwarfSymbols::take_own_name(const Frame& frame, const SourcePlace& own, SymbolInfo& info) const {
  if (!info.name.empty() || own.function.empty() || own.entry == 0 || own.entry > frame.module_offset) return;
  info.raw_name = printable(own.function);
  info.name = printable(demangle(own.function));
  info.offset = frame.module_offset - own.entry + (frame.pc.raw() - frame.pc.lookup());
}

std::vector<SymbolInfo> DwarfSymbols::describe_inlined(const Frame&) { return std::move(inlined_); }

}  // namespace mixstack::symbolize
