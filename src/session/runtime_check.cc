#include "session/runtime_check.h"

#include <algorithm>
#include <iterator>

#include "dotnet/runtime/runtime_by_contracts.h"
#include "engine/images/module_map.h"
#include "process/live/live_target.h"
#include "session/native_aot.h"

namespace mixstack::session {
namespace {

RuntimeCheck check(const MemoryReader& memory, const dotnet::RuntimeImage& image) {
  const std::string version = image.version_for_people();
  RuntimeCheck checked{version.empty() ? "CoreCLR" : "CoreCLR " + version, {}};
  const auto facts = dotnet::RuntimeFacts::open(memory, image);
  const std::vector<Diagnosis> all = facts ? (*facts)->contracts().refusals() : std::vector<Diagnosis>{facts.error()};
  std::copy_if(all.begin(), all.end(), std::back_inserter(checked.refusals), dotnet::is_of_unknown_version);
  return checked;
}

}  // namespace

std::vector<RuntimeCheck> check_runtimes(std::uint32_t pid) {
  std::vector<RuntimeCheck> all;
  const auto target = process::open_live(pid);
  const auto regions = target ? (*target)->regions() : fail(target.error());
  if (!regions) return all;
  const MemoryReader& memory = (*target)->memory();
  const auto modules = images::ModuleMap::build(
      *regions, memory, [&](const Region& region) { return (*target)->open_file(region); }, nullptr,
      images::ModuleMap::FileTrust::is_the_mapped);
  const std::string& executable = (*target)->info().executable;
  if (const auto aot = find_native_aot(modules, executable, memory))
    return {{aot->summary.version.empty() ? "NativeAOT" : "NativeAOT " + aot->summary.version, {}}};
  for (const dotnet::RuntimeImage& image : dotnet::find_runtimes(modules, executable))
    all.push_back(check(memory, image));
  return all;
}

}  // namespace mixstack::session
