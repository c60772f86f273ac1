#include "session/symbol_status.h"

#include <algorithm>

#include "dotnet/names/pdb_finder.h"
#include "engine/symbol_files/symbol_key.h"
#include "engine/symbols/demangle.h"

namespace mixstack::session {
namespace {

using symbol_files::SymbolKey;
using Source = ModuleSymbols::Source;

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Source source_of(const images::SymbolTable& table) {
  if (table.sources().debug) return Source::file;
  if (table.is_full()) return Source::image;
  if (table.sources().mini) return Source::mini_debug_info;
  return table.size() != 0 ? Source::exports : Source::nothing;
}

std::string guid_of(const dotnet::names::PdbLookup& lookup) { return symbol_files::guid_text(lookup.wanted.id, false); }

}  // namespace

ModuleSymbols native_symbols(const images::Module& module, const images::BuildId& build_id,
                             const images::SymbolTable* table) {
  ModuleSymbols out;
  out.kind = ModuleSymbols::Kind::native;
  out.path = symbols::printable(module.path);
  out.module = last_part(out.path);
  out.id = build_id.hex();
  std::string link;
  if (table == nullptr) {
    out.remark = "its file and its headers could not be read";
  } else {
    out.source = source_of(*table);
    out.found = symbols::printable(table->sources().debug_path);
    if (table->sources().image) link = images::debug_link_name(*table->sources().image);
  }
  if (module.path == "[vdso]" && out.source != Source::file) {
    out.source = Source::image;  // of which the kernel leaves what is exported
    out.remark = "the kernel brings it into every process: only what it exports has a name, and no file is wanted";
    return out;
  }
  const SymbolKey key = SymbolKey::debug_file(build_id, module.path, link);
  if (!key.empty()) out.store_key = key.store_key();
  // Debian's links are the rest of the build id: such files lie below .build-id.
  const bool is_by_id = symbol_files::is_harmless(link) && !link.starts_with(key.name);
  if (is_by_id || key.others.empty()) {
    out.wanted_file = key.empty() ? "" : key.paths_in_folder().front();
  } else {
    out.wanted_file = key.others.front();
  }
  return out;
}

ModuleSymbols managed_symbols(const dotnet::names::PdbLookup& lookup) {
  ModuleSymbols out;
  out.kind = ModuleSymbols::Kind::managed;
  out.module = symbols::printable(lookup.assembly);
  out.path = symbols::printable(lookup.assembly_path);
  out.found = symbols::printable(lookup.found);
  const bool is_found = lookup.error.code == ErrorCode::none;
  out.source = !is_found ? Source::nothing : lookup.found.empty() ? Source::image : Source::file;
  if (lookup.is_edited) {
    out.remark = "changed while it ran (Hot Reload): the lines of its PDB are those of an older source";
    return out;
  }
  if (!lookup.wanted.has_id) {
    out.remark = lookup.wanted.error.code == ErrorCode::none ? "the compiler made no PDB of it"
                                                             : "what its image says of a PDB cannot be read";
    return out;
  }
  const SymbolKey key = SymbolKey::pdb(lookup.wanted.id, lookup.wanted.name);
  out.id = guid_of(lookup);
  out.store_key = key.store_key();
  out.wanted_file = key.name;
  if (!is_found && !lookup.refused.empty()) out.remark = symbols::printable(lookup.refused) + " is of another build";
  return out;
}

FrameCounts::FrameCounts(const ProcessDump& dump) {
  for (const ThreadDump& thread : dump.threads) {
    for (std::size_t i = 0; i < thread.trace.frames.size() && i < thread.symbols.size(); i++) {
      const Frame& frame = thread.trace.frames[i];
      const SymbolInfo& symbol = dump.symbols[own_function(dump.symbols, thread.symbols[i])];
      if (frame.kind == FrameKind::managed && !symbol.module.empty()) {
        Count& count = managed_[symbol.module];
        count.frames++;
        if (symbol.line == 0) count.nameless++;
      } else if (frame.kind == FrameKind::native && frame.module != kNoModule) {
        Count& count = native_[frame.module];
        count.frames++;
        if (symbol.name.empty()) count.nameless++;
      }
    }
  }
}

void FrameCounts::count_into(ModuleSymbols& symbols, ModuleIndex native_module) const {
  Count count;
  if (symbols.kind == ModuleSymbols::Kind::managed) {
    if (const auto at = managed_.find(symbols.module); at != managed_.end()) count = at->second;
  } else if (const auto at = native_.find(native_module); at != native_.end()) {
    count = at->second;
  }
  symbols.frames = count.frames;
  symbols.nameless = count.nameless;
}

void tell_of_refused_pdbs(std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, ProcessDump& dump) {
  for (const auto& runtime : runtimes) {
    for (const dotnet::names::PdbLookup& lookup : runtime->pdbs()) {
      if (lookup.is_edited) {
        dump.diagnoses.push_back({{},
                                  symbols::printable(lookup.assembly),
                                  "was changed while it ran (Hot Reload): its frames have no source lines, since those "
                                  "of the build may be wrong"});
        continue;
      }
      if (lookup.refused.empty() || lookup.error.code == ErrorCode::none) continue;
      // A remark, no failure: what was asked for, stacks and names, is there.
      dump.diagnoses.push_back({{},
                                symbols::printable(lookup.assembly),
                                symbols::printable(lookup.refused) +
                                    " is of another build, so there are no source lines; wanted is the PDB " +
                                    guid_of(lookup)});
    }
  }
}

}  // namespace mixstack::session
