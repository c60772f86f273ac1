#include "engine/unwind/native_modules.h"

#include <algorithm>

namespace mixstack::unwind {

NativeModules::NativeModules(std::vector<NativeModule> modules, TableLoader loader)
    : modules_(std::move(modules)), asked_(modules_.size()), loader_(std::move(loader)) {
  std::stable_sort(modules_.begin(), modules_.end(),
                   [](const auto& a, const auto& b) { return a.range.begin < b.range.begin; });
  begins_.reserve(modules_.size());
  for (const auto& m : modules_) begins_.push_back(m.range.begin);
}

const UnwindTable* NativeModules::load(const NativeModule& module) const {
  const auto i = static_cast<std::size_t>(&module - modules_.data());
  if (asked_[i] || !loader_) return nullptr;
  asked_[i] = true;
  modules_[i].table = loader_(module.index);
  return modules_[i].table.get();
}

}  // namespace mixstack::unwind
