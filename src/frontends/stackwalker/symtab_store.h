// The SymtabAPI objects of one Walker.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/dwarf/dwarf_file.h"
#include "frontends/stackwalker/engine.h"
#include "stackwalker/Symtab.h"

namespace Dyninst::SymtabAPI {

struct Symtab::Parts {
  std::string path;
  std::shared_ptr<const mixstack::images::SymbolTable> table;
  /// Finds the file with debug information; called at first use.
  std::function<std::shared_ptr<mixstack::symbols::DwarfFile>()> open_dwarf;
  bool has_opened_dwarf = false;
  std::shared_ptr<mixstack::symbols::DwarfFile> dwarf;
  std::map<Offset, std::unique_ptr<Function>> functions;  ///< by entry
  std::map<Offset, std::unique_ptr<Symbol>> symbols;
};

/// Makes objects at first use and keeps them. Not thread-safe.
class SymtabStore {
 public:
  SymtabStore();
  ~SymtabStore();
  /// Null if the module is not an ELF image.
  [[nodiscard]] Symtab* symtab(mixstack::stackwalker::Engine& engine, mixstack::ModuleIndex module);
  /// The symbol around a frame of native code, or of a method; null: none.
  [[nodiscard]] Symbol* symbol(mixstack::stackwalker::Engine& engine, const mixstack::Frame& frame,
                               const mixstack::SymbolInfo& info);

 private:
  std::map<std::pair<std::string, Address>, std::unique_ptr<Symtab>> symtabs_;  ///< by path and load bias
  std::map<Address, std::unique_ptr<Symbol>> methods_;
};

}  // namespace Dyninst::SymtabAPI

namespace mixstack::stackwalker {

/// Access to the hidden members of SymtabAPI's classes.
class SymtabAccess {
 public:
  [[nodiscard]] static std::unique_ptr<Dyninst::SymtabAPI::Symtab> make(
      std::unique_ptr<Dyninst::SymtabAPI::Symtab::Parts> parts);
  [[nodiscard]] static Dyninst::SymtabAPI::Symbol* symbol(Dyninst::SymtabAPI::Symtab& symtab, Address offset);
  [[nodiscard]] static std::unique_ptr<Dyninst::SymtabAPI::Symbol> method_symbol(const Frame& frame,
                                                                                 const SymbolInfo& info);
  [[nodiscard]] static Dyninst::SymtabAPI::Function* function(Dyninst::SymtabAPI::Symtab& symtab, Address offset);
  [[nodiscard]] static symbols::DwarfFile* dwarf(Dyninst::SymtabAPI::Symtab& symtab);
  static void read_variables(Dyninst::SymtabAPI::Function& function);
  [[nodiscard]] static Dyninst::SymtabAPI::Function* function_of(const Dyninst::SymtabAPI::localVar& variable) {
    return variable.function_;
  }
  [[nodiscard]] static unsigned long die_of(const Dyninst::SymtabAPI::localVar& variable) { return variable.die_; }
};

}  // namespace mixstack::stackwalker
