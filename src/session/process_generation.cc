#include "session/process_generation.h"

#include <algorithm>

#include "session/unloaded_code.h"

namespace mixstack::session {
namespace {

[[nodiscard]] bool is_the_same(const dotnet::RuntimeImage& a, const dotnet::RuntimeImage& b) {
  return a.base == b.base && a.path == b.path && a.descriptor == b.descriptor && a.version == b.version &&
         a.commit == b.commit;
}

/// Its descriptor need not be read again.
[[nodiscard]] bool is_read_whole(const dotnet::KnownRuntime& known) {
  return known.facts && !(*known.facts)->descriptor().lacks_parts();
}

}  // namespace

std::shared_ptr<const ProcessGeneration> ProcessGeneration::read(const Sources& sources,
                                                                 const std::vector<Region>& regions,
                                                                 const ProcessGeneration* before) {
  std::shared_ptr<ProcessGeneration> facts(new ProcessGeneration(sources, regions));
  facts->find_runtimes(sources.target, before);
  facts->memory_.clear();
  return facts;
}

ProcessGeneration::ProcessGeneration(const Sources& sources, const std::vector<Region>& regions)
    : memory_(sources.target.memory()), mappings_(image_mappings(regions)) {
  using FileTrust = images::ModuleMap::FileTrust;
  modules_ = images::ModuleMap::build(regions, memory_, sources.open_mapped, sources.images,
                                      sources.target.proves_files() ? FileTrust::is_the_mapped : FileTrust::may_differ);
}

void ProcessGeneration::find_runtimes(const Target& target, const ProcessGeneration* before) {
  // A live process has one memory. Readers of many small pieces keep pages by themselves.
  const bool has_constants = &target.loaded_memory() != &target.memory();
  for (dotnet::RuntimeImage& image : dotnet::find_runtimes(modules_, target.info().executable)) {
    if (before != nullptr) {
      const auto known = std::find_if(before->runtimes_.begin(), before->runtimes_.end(),
                                      [&](const auto& r) { return is_read_whole(*r) && is_the_same(r->image, image); });
      if (known != before->runtimes_.end()) {
        runtimes_.push_back(*known);
        continue;
      }
    }
    auto facts = dotnet::RuntimeFacts::open(target.memory(), image, has_constants ? &target.loaded_memory() : nullptr);
    if (facts && (*facts)->descriptor().is_native_aot()) continue;  // see native_aot.h
    runtimes_.push_back(
        std::make_shared<const dotnet::KnownRuntime>(dotnet::KnownRuntime{std::move(image), std::move(facts)}));
  }
}

}  // namespace mixstack::session
