// The modules with and without symbols, and the source of each.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dotnet/names/pdb_finder.h"
#include "dotnet/runtime/managed_runtime.h"
#include "engine/images/module_map.h"
#include "engine/symbols/elf_symbols.h"
#include "mixstack/dump.h"
#include "mixstack/symbol_files.h"

namespace mixstack::session {

/// Symbols of a native image, by its symbol table (null: it could not be opened).
[[nodiscard]] ModuleSymbols native_symbols(const images::Module& module, const images::BuildId& build_id,
                                           const images::SymbolTable* table);
/// Symbols of an assembly, by the search for its PDB.
[[nodiscard]] ModuleSymbols managed_symbols(const dotnet::names::PdbLookup& lookup);

/// Frames per module of a dump, and those without a name or a line.
class FrameCounts {
 public:
  explicit FrameCounts(const ProcessDump& dump);
  /// 0 where no stack runs through it.
  [[nodiscard]] std::size_t native(ModuleIndex module) const {
    return native_.contains(module) ? native_.at(module).frames : 0;
  }
  void count_into(ModuleSymbols& symbols, ModuleIndex native_module) const;

 private:
  struct Count {
    std::size_t frames = 0, nameless = 0;
  };
  std::unordered_map<ModuleIndex, Count> native_;
  std::unordered_map<std::string, Count> managed_;  ///< by the assembly's name
};

/// A remark for each assembly beside which there is a PDB of another build only: "App: /app/App.pdb is of another
/// build; wanted is 3f2504e0-...".
void tell_of_refused_pdbs(std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, ProcessDump& dump);

}  // namespace mixstack::session
