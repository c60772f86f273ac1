// Facts of a process that hold as long as its images stay where they are.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/memory/locked_cache.h"
#include "dotnet/runtime/managed_runtime.h"
#include "engine/images/module_map.h"
#include "mixstack/target.h"

namespace mixstack::session {

/// One generation: immutable, so that workers in any threads share it; changed mappings make a new one. (Images are
/// opened when first asked for, which callers do not notice.) Borrows the target.
class ProcessGeneration {
 public:
  struct Sources {
    const Target& target;
    images::ModuleMap::FileOpener open_mapped;  ///< called by any thread
    std::shared_ptr<images::ImageCache> images;
  };
  /// Reads headers of images and descriptors of runtimes. Those of `before` (may be null) that are still there are not
  /// read again.
  [[nodiscard]] static std::shared_ptr<const ProcessGeneration> read(const Sources& sources,
                                                                     const std::vector<Region>& regions,
                                                                     const ProcessGeneration* before);
  ProcessGeneration(const ProcessGeneration&) = delete;
  ProcessGeneration& operator=(const ProcessGeneration&) = delete;

  [[nodiscard]] const images::ModuleMap& modules() const { return modules_; }
  [[nodiscard]] std::span<const std::shared_ptr<const dotnet::KnownRuntime>> runtimes() const { return runtimes_; }
  /// The mappings that all this was read from (`image_mappings`).
  [[nodiscard]] const std::vector<Region>& mappings() const { return mappings_; }

 private:
  ProcessGeneration(const Sources& sources, const std::vector<Region>& regions);
  void find_runtimes(const Target& target, const ProcessGeneration* before);

  memory::LockedCache memory_;  ///< pages as they were when these facts were read; other images from later
  std::vector<Region> mappings_;
  images::ModuleMap modules_;
  std::vector<std::shared_ptr<const dotnet::KnownRuntime>> runtimes_;
};

}  // namespace mixstack::session
