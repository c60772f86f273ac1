// Unwind tables by image: facts that outlive captures, and the processes that have the image loaded.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "unwind/unwind_table.h"

namespace mixstack::unwind {

/// One table for each image that is asked for, made when first wanted. Thread-safe, as the tables are: any number of
/// walkers share them. Keeps the images it was asked about alive.
class UnwindTables {
 public:
  /// Never null.
  [[nodiscard]] std::shared_ptr<const UnwindTable> of(const std::shared_ptr<const object::ElfImage>& image) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = tables_.find(image); known != tables_.end()) return known->second;
    }
    auto table = UnwindTable::create(image);
    const std::lock_guard lock(mutex_);
    if (tables_.size() >= kMost) tables_.clear();
    return tables_.emplace(image, std::move(table)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 1024;  // more than that and it starts anew

  std::mutex mutex_;
  std::map<std::shared_ptr<const object::ElfImage>, std::shared_ptr<const UnwindTable>> tables_;
};

}  // namespace mixstack::unwind
