#include "features/renaming/later_names.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "base/arch/cpu.h"
#include "features/renaming/image_names.h"
#include "features/renaming/renamed_recording.h"
#include "session/symbol_origin.h"
#include "session/symbol_status.h"

namespace mixstack::renaming {
namespace {

using Source = ModuleSymbols::Source;

struct Places {
  std::size_t all = 0, nameless = 0;
};

/// By module: distinct places of native code.
std::map<std::uint32_t, Places> count_places(const Recording& recording) {
  std::map<std::uint32_t, Places> counts;
  for (const RecordedFrame& frame : recording.frames()) {
    const RecordedFunction& function = recording.functions()[frame.function];
    const bool is_native = function.kind == CodeKind::native || function.kind == CodeKind::runtime;
    if (!is_native || function.module == kNoIndex || frame.inlining != Inlining::none) continue;
    Places& places = counts[function.module];
    places.all++;
    if (function.name.empty()) places.nameless++;
  }
  return counts;
}

ModuleSymbols describe(ImageFiles& files, const ImageFiles::Found& found, const RecordedModule& module,
                       const Places& places) {
  images::Module native;
  native.path = module.path.empty() ? module.name : module.path;
  const auto table = files.symbols(found, module.path);
  ModuleSymbols symbols = session::native_symbols(native, found.build_id, table.get());
  if (native.path != "[vdso]") symbols.remark = found.refused;
  if (found.image && !found.where.empty() && symbols.source == Source::image) {
    symbols.source = Source::file;
    symbols.found = found.where;
  }
  symbols.frames = places.all;
  symbols.nameless = places.nameless;
  if (symbols.is_missing() && places.nameless == 0)
    symbols.remark += (symbols.remark.empty() ? "" : "; ") + std::string("all of it was named when it was recorded");
  return symbols;
}

/// Concludes origins from paths alone: this machine's files say nothing of the machine that recorded.
void find_origins(LaterNames& names) {
  ProcessDump dump;
  for (const Arch arch : kArchs)
    if (names.recording.facts.arch == arch::cpu(arch).name) dump.target.arch = arch;
  if (dump.target.arch == Arch::unknown) return;
  session::find_origins(names.modules, dump, [](const std::string&) -> Result<std::shared_ptr<const FileBytes>> {
    return fail(ErrorCode::not_found);
  });
}

}  // namespace

LaterNames name_later(Recording recording, const LaterNameOptions& options) {
  LaterNames names;
  ImageFiles files(options.symbols);
  std::map<std::uint32_t, ImageFiles::Found> found;
  std::size_t left_out = 0;
  for (const auto& [index, places] : count_places(recording)) {
    if (places.nameless == 0 && !options.every_module) continue;
    if (found.size() < kMostModules)
      found.emplace(index, files.find(recording.modules()[index]));
    else
      left_out++;
  }
  const auto& modules = recording.modules();
  auto made = found.empty() ? Result<Recording>(fail(ErrorCode::not_found))
                            : renamed(recording, [&](std::uint32_t module, std::uint64_t address) {
                                const auto at = found.find(module);
                                return at == found.end() ? std::vector<SymbolInfo>()
                                                         : files.name(at->second, modules[module], address);
                              });
  if (!made && made.error().code == ErrorCode::limit_exceeded)
    names.diagnoses.push_back({made.error(), "names",
                               "the recording has so many different stacks that there is no room for names: it stays "
                               "as it was; record it with fewer threads, or for a shorter time"});
  // Modules keep their numbers.
  const auto counts = count_places(made ? *made : recording);
  for (const auto& [index, one] : found)
    names.modules.push_back(describe(files, one, modules[index], counts.contains(index) ? counts.at(index) : Places{}));
  for (Diagnosis& d : files.diagnoses()) names.diagnoses.push_back(std::move(d));
  if (left_out != 0)
    names.diagnoses.push_back({{ErrorCode::limit_exceeded, 0, left_out},
                               "modules",
                               fmt::format("of more than {}, {} were not looked for", kMostModules, left_out)});
  names.recording = made ? std::move(*made) : std::move(recording);
  find_origins(names);
  return names;
}

}  // namespace mixstack::renaming
