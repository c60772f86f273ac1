#include "engine/symbols/elf_symbols.h"

#include "engine/symbols/demangle.h"

namespace mixstack::symbols {
namespace {

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

}  // namespace

SymbolInfo unnamed_place(std::string_view path, std::string build_id, std::uint64_t offset) {
  SymbolInfo place;
  place.module = printable(file_name(path));
  place.module_path = printable(path);
  place.build_id = std::move(build_id);
  place.offset = offset;
  return place;
}

void name_by(const images::Symbol& symbol, SymbolInfo& place) {
  const std::string_view suffix = symbol.is_plt ? "@plt" : "";
  place.raw_name = printable(symbol.name).append(suffix);
  place.name = printable(demangle(symbol.name)).append(suffix);
  place.offset -= symbol.address;
}

std::shared_ptr<const images::SymbolTable> SymbolTables::get(const std::shared_ptr<const images::ElfImage>& image,
                                                             const std::string& path, const images::PathOpener& open,
                                                             Effort effort) {
  const bool fetches = fetch_ && effort == Effort::any;
  {
    const std::lock_guard lock(mutex_);
    if (const auto it = tables_.find({image.get(), path}); it != tables_.end() && (it->second.is_final || !fetches))
      return it->second.table;
  }
  // Built outside the lock: two threads may build the same table, but none waits for another image.
  auto table = images::SymbolTable::build(images::find_symbol_sources(image, path, open, fetches ? fetch_ : nullptr));
  const std::lock_guard lock(mutex_);
  if (tables_.size() >= kMost) tables_.clear();
  Entry& entry = tables_[{image.get(), path}];
  if (entry.table == nullptr || (fetches && !entry.is_final)) {
    const bool names_functions = table->is_full() || table->sources().mini != nullptr;  // nothing is fetched then
    entry = {image, std::move(table), fetches || !fetch_ || names_functions};
  }
  return entry.table;
}

ElfSymbols::ElfSymbols(const images::ModuleMap& modules, images::PathOpener open, std::shared_ptr<SymbolTables> tables)
    : modules_(modules),
      open_(std::move(open)),
      shared_(tables ? std::move(tables) : std::make_shared<SymbolTables>()),
      tables_(modules.modules().size()) {}

std::optional<SymbolInfo> ElfSymbols::describe(const Frame& frame) {
  const bool lies_in_a_file = frame.kind == FrameKind::undescribed && frame.module != kNoModule;
  if (frame.kind != FrameKind::native && frame.kind != FrameKind::signal_trampoline && !lies_in_a_file)
    return std::nullopt;
  if (frame.module == kNoModule || frame.module >= tables_.size()) return describe(frame.pc);
  // By module and offset, not by pc: the code may be a copy that lies elsewhere.
  SymbolInfo info = describe_at(frame.module, frame.module_offset, frame.pc.raw() - frame.pc.lookup());
  if (modules_.find(frame.pc.lookup()) != frame.module) info.note = "patched copy";
  return info;
}

std::optional<SymbolInfo> ElfSymbols::describe(CodeAddress address) {
  const auto index = modules_.find(address.lookup());
  if (index == kNoModule || index >= tables_.size()) return std::nullopt;
  return describe_at(index, modules_.modules()[index].link_address(address.lookup()), address.raw() - address.lookup());
}

SymbolInfo ElfSymbols::describe_at(ModuleIndex index, std::uint64_t lookup, std::uint64_t beyond) {
  SymbolInfo info = unnamed_place(modules_.modules()[index].path, modules_.build_id(index).hex(), lookup + beyond);
  if (const auto symbol = find(index, lookup)) name_by(*symbol, info);
  return info;
}

std::optional<Address> ElfSymbols::function_start(const Frame& frame) {
  if (frame.module == kNoModule || frame.module >= tables_.size()) return std::nullopt;
  const auto symbol = find(frame.module, frame.module_offset, SymbolTables::Effort::of_this_machine);
  if (!symbol || symbol->is_plt) return std::nullopt;
  return modules_.modules()[frame.module].load_bias + symbol->address;
}

std::optional<images::Symbol> ElfSymbols::find(ModuleIndex module, std::uint64_t link_address,
                                               SymbolTables::Effort effort) {
  if (effort == SymbolTables::Effort::any && !shared_->has_names()) return std::nullopt;
  auto table = tables_[module];
  if (!table) {
    const auto image = modules_.image(module);
    if (!image) return std::nullopt;
    table = shared_->get(*image, modules_.modules()[module].path, open_, effort);
    if (effort == SymbolTables::Effort::any) tables_[module] = table;
  }
  return table->find(link_address);
}

}  // namespace mixstack::symbols
