#include "dotnet/runtime/open_runtime.h"

#include "dotnet/runtime/runtime_by_dac.h"

namespace mixstack::dotnet {
namespace {

/// A DAC in a damaged process is the last resort, and may search without end.
constexpr std::chrono::seconds kForDamaged{3};

}  // namespace

std::unique_ptr<ManagedRuntime> open_runtime(std::shared_ptr<const KnownRuntime> known, const Target& target,
                                             const MemoryReader& live, const images::PathOpener& opener,
                                             const images::ModuleMap& modules, const RuntimeOptions& options,
                                             const names::PdbFetcher& fetch_pdb) {
  const RuntimeImage image = known->image;
  const bool walks = options.provider != ManagedProvider::dac;
  auto described = std::make_unique<RuntimeByContracts>(
      std::move(known), target, live, opener,
      RuntimeByContracts::Uses{.walks = walks, .lines = options.lines, .fetch_pdb = fetch_pdb});
  if (walks && (options.provider == ManagedProvider::descriptor || described->summary().walkable)) return described;
  dac::ProviderOptions dac_options;
  dac_options.dac_path = options.dac_path;
  dac_options.helper = options.helper;
  if (described->is_damaged()) dac_options.limits.total = kForDamaged;
  auto provider = dac::DacProvider::open(image, target.info().arch, opener, dac_options);
  return std::make_unique<RuntimeByDac>(std::move(described), std::move(provider), target, modules);
}

}  // namespace mixstack::dotnet
