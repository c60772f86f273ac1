// Which files the names of a process come from: its images' symbols and its assemblies' PDBs.
#include <set>

#include "dotnet/names/pdb_finder.h"
#include "dotnet/runtime/assembly_pdb.h"
#include "session/process_session.h"
#include "session/symbol_origin.h"
#include "session/symbol_sources.h"
#include "session/symbol_status.h"

namespace mixstack::session {

std::vector<ModuleSymbols> ProcessSession::symbol_files(const ProcessDump& dump, bool all) {
  const WorkerPool::Lease worker = this->worker();
  const images::ModuleMap& modules = worker->modules();
  const FrameCounts counts(dump);
  std::vector<ModuleSymbols> list;
  for (std::size_t i = 0; i < modules.modules().size(); i++) {
    const auto index = static_cast<ModuleIndex>(i);
    const images::Module& module = modules.modules()[i];
    if (module.kind != images::ModuleKind::elf || (!all && counts.native(index) == 0)) continue;
    const auto image = modules.image(index);
    const auto table = image ? images_.symbols->get(*image, module.path, path_opener()) : nullptr;
    list.push_back(native_symbols(module, modules.build_id(index), table.get()));
    counts.count_into(list.back(), index);
  }
  std::set<std::string> known;
  const auto add = [&](const dotnet::names::PdbLookup& lookup) {
    if (!known.insert(lookup.assembly_path.empty() ? lookup.assembly : lookup.assembly_path).second) return;
    list.push_back(managed_symbols(lookup));
    counts.count_into(list.back(), kNoModule);
  };
  for (const auto& runtime : worker->runtimes())
    for (const dotnet::names::PdbLookup& lookup : runtime->pdbs()) add(lookup);
  const auto regions = all ? target_->regions() : Result<std::vector<Region>>();
  for (const Region& region : regions ? *regions : std::vector<Region>())
    if (region.path.ends_with(".dll") && !known.contains(region.path))
      if (auto lookup = dotnet::look_for_pdb(region.path, path_opener(), finder_ ? pdb_fetcher(finder_) : nullptr))
        add(*lookup);
  find_origins(list, dump, path_opener());
  return list;
}

}  // namespace mixstack::session
