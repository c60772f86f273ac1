#include "dotnet/runtime/found_counters.h"

#include "base/memory/cached_memory.h"
#include "dotnet/bcl/locks.h"
#include "dotnet/bcl/types.h"
#include "dotnet/heap/managed_objects.h"

namespace mixstack::dotnet {

/// 0: the type is not loaded, so that nobody has waited for one, or it has no such count.
Address FoundCounters::find_lock_contentions() {
  const memory::CachedMemory cached(target_.memory());
  objects::LoadedTypes types(runtime_->memory(cached), names_);
  objects::ManagedObjects objects(types);
  const Address type = types.find(bcl::kCoreLib, bcl::Lock::kType);
  const auto field = type == 0 ? std::nullopt : types.field(type, bcl::Lock::kContentions);
  if (!field || field->element != names::ElementType::i8) return 0;
  return objects.static_place(type, bcl::Lock::kContentions).value_or(0);
}

void FoundCounters::find(const images::ModuleMap& modules) {
  const RuntimeImage& image = runtime_->image();
  const ModuleIndex module = modules.find(image.descriptor);
  const auto elf = modules.image(module);
  const RuntimeMemory now = runtime_->memory(target_.memory());
  std::optional<Collector> collector;
  {
    const memory::CachedMemory cached(target_.memory());
    if (auto found = find_collector(runtime_->memory(cached), image.dac_table)) collector = *found;
  }
  const Address locks = find_lock_contentions();
  counters::CounterPlaces places;
  if (elf)
    places = counters::find_counter_places(runtime_->memory(target_.loaded_memory()), (*elf)->segments(), image.base,
                                           collector);
  is_early_ = places.is_early || locks == 0;
  reader_.emplace(now, places, std::move(collector), locks);
}

/// A thread that goes on meanwhile may leave any address behind.
const std::string& FoundCounters::exception_name(Address type) {
  constexpr std::size_t kMostTypes = 1024;
  if (exception_names_.size() == kMostTypes) exception_names_.clear();
  const auto [at, is_new] = exception_names_.try_emplace(type);
  if (!is_new) return at->second;
  const memory::CachedMemory cached(target_.memory());
  objects::LoadedTypes types(runtime_->memory(cached), names_);
  if (types.is_core(type, bcl::kException)) at->second = types.csharp_name(type);
  return at->second;
}

RuntimeCounters FoundCounters::read(const images::ModuleMap& modules) {
  if (is_early_ && ++calls_ == next_try_) {
    next_try_ = next_try_ > (1u << 30) ? 0 : 2 * next_try_;
    find(modules);
  }
  if (!reader_) return {};
  std::vector<Address> thrown;
  RuntimeCounters counters = reader_->read(&thrown);
  for (const Address type : thrown)
    if (const std::string& name = exception_name(type); !name.empty()) counters.thrown.push_back(name);
  return counters;
}

}  // namespace mixstack::dotnet
