#include "engine/images/debug_file.h"
#include "engine/images/file_bytes.h"
#include "engine/symbols/demangle.h"
#include "frontends/stackwalker/error_map.h"
#include "frontends/stackwalker/symtab_store.h"

namespace Dyninst::SymtabAPI {

using mixstack::stackwalker::SymtabAccess;

Function* Symbol::getFunction() const {
  return symtab_ != nullptr ? SymtabAccess::function(*symtab_, offset_) : nullptr;
}

Symtab::Symtab(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Symtab::~Symtab() = default;
std::string Symtab::file() const { return parts_->path; }
std::string Symtab::name() const { return parts_->path.substr(parts_->path.rfind('/') + 1); }

bool Symtab::getContainingFunction(Offset offset, Function*& function) {
  Function* found = SymtabAccess::function(*this, offset);
  if (found == nullptr) return Stackwalker::failed(Stackwalker::err_nosymbol, nullptr);
  function = found;
  return true;
}

bool Symtab::findFunctionByEntryOffset(Function*& function, Offset entry) {
  Function* found = SymtabAccess::function(*this, entry);
  if (found == nullptr || found->getOffset() != entry) return Stackwalker::failed(Stackwalker::err_nosymbol, nullptr);
  function = found;
  return true;
}

void Function::readVariables() {
  if (!has_read_variables_) SymtabAccess::read_variables(*this);
  has_read_variables_ = true;
}

bool Function::getLocalVariables(std::vector<localVar*>& vars) {
  readVariables();
  const std::size_t before = vars.size();
  for (const auto& v : variables_)
    if (!v->isParameter()) vars.push_back(v.get());
  return vars.size() != before;
}

bool Function::getParams(std::vector<localVar*>& params) {
  readVariables();
  const std::size_t before = params.size();
  for (const auto& v : variables_)
    if (v->isParameter()) params.push_back(v.get());
  return params.size() != before;
}

bool Function::findLocalVariable(std::vector<localVar*>& vars, std::string name) {
  readVariables();
  const std::size_t before = vars.size();
  for (const auto& v : variables_)
    if (v->getName() == name) vars.push_back(v.get());
  return vars.size() != before;
}

SymtabStore::SymtabStore() = default;
SymtabStore::~SymtabStore() = default;

namespace {

/// The file itself if it has debug information, else the separate one: by build id, or by link.
std::shared_ptr<mixstack::symbols::DwarfFile> open_dwarf(const mixstack::Target& target,
                                                         const mixstack::images::Module& module,
                                                         const mixstack::images::ElfImage& image) {
  using mixstack::symbols::DwarfFile;
  if (auto own = target.open_file(module.header)) {
    if (auto dwarf = DwarfFile::open(*own)) return *dwarf;
  }
  std::shared_ptr<const mixstack::FileBytes> opened;
  const auto remember = [&](const std::string& path) {
    auto file = target.open_path(path);
    opened = file ? *file : nullptr;
    return file;
  };
  // The matching file is the one opened last.
  if (find_debug_file(image, module.path, remember) == nullptr || opened == nullptr) return nullptr;
  auto dwarf = DwarfFile::open(std::move(opened));
  return dwarf ? *dwarf : nullptr;
}

}  // namespace

Symtab* SymtabStore::symtab(mixstack::stackwalker::Engine& engine, mixstack::ModuleIndex index) {
  if (index == mixstack::kNoModule || index >= engine.modules().modules().size()) return nullptr;
  const mixstack::images::Module module = engine.modules().modules()[index];
  auto& slot = symtabs_[{module.path, module.load_bias}];
  if (slot) return slot.get();
  const auto image = engine.modules().image(index);
  if (!image) return nullptr;
  const mixstack::Target& target = engine.target();
  auto parts = std::make_unique<Symtab::Parts>();
  parts->path = module.path;
  parts->table =
      engine.tables().get(*image, module.path, [&target](const std::string& path) { return target.open_path(path); });
  parts->open_dwarf = [weak = engine.weak_from_this(), module, image = *image] {
    const auto alive = weak.lock();
    return alive ? open_dwarf(alive->target(), module, *image) : nullptr;
  };
  slot = SymtabAccess::make(std::move(parts));
  return slot.get();
}

Symbol* SymtabStore::symbol(mixstack::stackwalker::Engine& engine, const mixstack::Frame& frame,
                            const mixstack::SymbolInfo& info) {
  if (frame.kind == mixstack::FrameKind::managed) {
    if (info.name.empty()) return nullptr;
    auto& slot = methods_[frame.method_start != 0 ? frame.method_start : frame.pc.lookup()];
    if (!slot || slot->getPrettyName() != info.name) slot = SymtabAccess::method_symbol(frame, info);
    return slot.get();
  }
  Symtab* table = symtab(engine, frame.module);
  return table != nullptr ? SymtabAccess::symbol(*table, frame.module_offset) : nullptr;
}

}  // namespace Dyninst::SymtabAPI

namespace mixstack::stackwalker {

using Dyninst::SymtabAPI::Function;
using Dyninst::SymtabAPI::localVar;
using Dyninst::SymtabAPI::Symbol;
using Dyninst::SymtabAPI::Symtab;

std::unique_ptr<Symtab> SymtabAccess::make(std::unique_ptr<Symtab::Parts> parts) {
  return std::unique_ptr<Symtab>(new Symtab(std::move(parts)));
}

Symbol* SymtabAccess::symbol(Symtab& symtab, Address offset) {
  const auto found = symtab.parts_->table->find(offset);
  if (!found) return nullptr;
  auto& slot = symtab.parts_->symbols[found->address];
  if (!slot) {
    slot = std::make_unique<Symbol>();
    slot->mangled_ = found->name;
    slot->pretty_ = symbols::demangle(found->name);
    slot->offset_ = found->address;
    slot->size_ = static_cast<unsigned>(found->size);
    slot->symtab_ = &symtab;
  }
  return slot.get();
}

std::unique_ptr<Symbol> SymtabAccess::method_symbol(const Frame& frame, const SymbolInfo& info) {
  auto symbol = std::make_unique<Symbol>();
  symbol->mangled_ = info.raw_name.empty() ? info.name : info.raw_name;
  symbol->pretty_ = info.name;
  symbol->offset_ = frame.method_start;
  return symbol;
}

Function* SymtabAccess::function(Symtab& symtab, Address offset) {
  const Symbol* around = symbol(symtab, offset);
  if (around == nullptr) return nullptr;
  auto& slot = symtab.parts_->functions[around->getOffset()];
  if (!slot) {
    slot = std::make_unique<Function>();
    slot->name_ = around->getPrettyName();
    slot->offset_ = around->getOffset();
    slot->size_ = around->getSize();
    slot->symtab_ = &symtab;
  }
  return slot.get();
}

symbols::DwarfFile* SymtabAccess::dwarf(Symtab& symtab) {
  Symtab::Parts& parts = *symtab.parts_;
  if (!parts.has_opened_dwarf) parts.dwarf = parts.open_dwarf();
  parts.has_opened_dwarf = true;
  return parts.dwarf.get();
}

void SymtabAccess::read_variables(Function& function) {
  symbols::DwarfFile* file = dwarf(*function.symtab_);
  if (file == nullptr) return;
  for (const symbols::DwarfVariable& v : file->variables(function.offset_)) {
    auto variable = std::make_unique<localVar>();
    variable->name_ = v.name;
    variable->file_ = v.file;
    variable->line_ = v.line;
    variable->is_parameter_ = v.is_parameter;
    variable->function_ = &function;
    variable->die_ = v.entry;
    if (!v.type_name.empty() || v.size != 0) {
      variable->type_ = std::make_unique<Dyninst::SymtabAPI::Type>();
      variable->type_->name_ = v.type_name;
      variable->type_->size_ = static_cast<unsigned>(v.size);
    }
    function.variables_.push_back(std::move(variable));
  }
}

}  // namespace mixstack::stackwalker
