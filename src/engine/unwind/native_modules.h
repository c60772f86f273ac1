// Finds the image of an address, for the walker: the images of one target in address order.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/unwind/unwind_table.h"
#include "mixstack/address.h"
#include "mixstack/frame.h"

namespace mixstack::unwind {

/// One image as it is mapped in the target.
struct NativeModule {
  AddressRange range;                        ///< from the first to behind the last mapped byte (or only its code)
  std::uint64_t load_bias = 0;               ///< target address minus link-time address
  ModuleIndex index = kNoModule;             ///< the caller's name for it, handed back
  std::shared_ptr<const UnwindTable> table;  ///< null: ask the loader when first needed
};

/// Loads the table of a module that came without one; null: it has none. Called at most once per module.
using TableLoader = std::function<std::shared_ptr<const UnwindTable>(ModuleIndex)>;

/// Sorted by address. Not thread-safe: tables are loaded on look-up.
class NativeModules {
 public:
  NativeModules() = default;
  /// Ranges must not overlap; where they do, the one that starts last wins.
  explicit NativeModules(std::vector<NativeModule> modules, TableLoader loader = {});

  /// The module around `address`, or null.
  [[nodiscard]] const NativeModule* find(Address address) const {
    // Calls alternate between few modules.
    for (const NativeModule* module : recent_)
      if (module != nullptr && module->range.contains(address)) return module;
    return search(address);
  }
  /// Its table, loaded now if need be; null when it has none.
  [[nodiscard]] const UnwindTable* table(const NativeModule& module) const {
    if (module.table != nullptr) [[likely]]
      return module.table.get();
    return load(module);
  }

 private:
  [[nodiscard]] const NativeModule* search(Address address) const {
    std::size_t count = begins_.size();
    if (count == 0) return nullptr;
    const Address* first = begins_.data();
    while (count > 1) {
      const std::size_t half = count / 2;
      first = first[half] <= address ? first + half : first;
      count -= half;
    }
    const NativeModule& module = modules_[static_cast<std::size_t>(first - begins_.data())];
    if (!module.range.contains(address)) return nullptr;
    recent_[next_recent_++ % recent_.size()] = &module;
    return &module;
  }
  [[nodiscard]] const UnwindTable* load(const NativeModule& module) const;

  std::vector<Address> begins_;
  mutable std::vector<NativeModule> modules_;
  mutable std::vector<bool> asked_;
  TableLoader loader_;
  mutable std::array<const NativeModule*, 2> recent_{};
  mutable unsigned next_recent_ = 0;
};

}  // namespace mixstack::unwind
