// Unwind tables and functions found in code, by image: facts that outlive captures, and the processes that have the
// image loaded.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "engine/unwind/prologue/code_functions.h"
#include "engine/unwind/unwind_table.h"

namespace mixstack::unwind {

/// An image whose .eh_frame is smaller than 1/kBarePart of its code has no unwind information except for some assembly.
/// (Usual: a tenth.)
inline constexpr std::uint64_t kBarePart = 64;

/// One table for each image that is asked for, made when first wanted. Thread-safe, as the tables are: any number of
/// walkers share them. Keeps the images it was asked about alive.
class UnwindTables {
 public:
  /// Never null.
  [[nodiscard]] std::shared_ptr<const UnwindTable> of(const std::shared_ptr<const images::ElfImage>& image) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = tables_.find(image); known != tables_.end()) return known->second;
    }
    auto table = UnwindTable::create(image);
    const std::lock_guard lock(mutex_);
    if (tables_.size() >= kMost) tables_.clear();
    return tables_.emplace(image, std::move(table)).first->second;
  }

  /// The functions of an image built without unwind information; null: it has some.
  [[nodiscard]] std::shared_ptr<const CodeFunctions> functions_of(
      const std::shared_ptr<const images::ElfImage>& image) {
    const auto table = of(image);
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = functions_.find(image); known != functions_.end()) return known->second;
    }
    std::shared_ptr<const CodeFunctions> functions;
    if (table->statistics().section_bytes * kBarePart < code_size_of(*image))
      functions = std::make_shared<const CodeFunctions>(*image);
    const std::lock_guard lock(mutex_);
    if (functions_.size() >= kMost) functions_.clear();
    return functions_.emplace(image, std::move(functions)).first->second;
  }

 private:
  static constexpr std::size_t kMost = 1024;  // more than that and it starts anew

  std::mutex mutex_;
  std::map<std::shared_ptr<const images::ElfImage>, std::shared_ptr<const UnwindTable>> tables_;
  std::map<std::shared_ptr<const images::ElfImage>, std::shared_ptr<const CodeFunctions>> functions_;
};

}  // namespace mixstack::unwind
