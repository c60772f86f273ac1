// Composite images: the machine code of many assemblies in one file, which the runtime reports to no profiler.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "agent/in_process/image_list.h"
#include "mixstack/memory_reader.h"

namespace mixstack::agent {

/// The file name of the composite image that has the code of the assembly mapped at `base`: section
/// OwnerCompositeExecutable of its ReadyToRun header (docs/design/coreclr/botr/readytorun-format.md). Nothing: it has
/// its own code, or none.
[[nodiscard]] std::optional<std::string> owner_composite(Address base, const MemoryReader& memory);

/// Addresses where the first page of a file is mapped, from the text of /proc/PID/maps.
[[nodiscard]] std::vector<Address> mappings_of(std::string_view maps, std::string_view path);

/// Finds the images with the code of modules. Not for signal handlers: it reads /proc/self/maps, until the composite
/// image is found. Thread-safe.
class ModuleCode {
 public:
  /// The image with the code of the module at `base` whose file is `path`: its own image, or its composite's, which
  /// lies in the same folder. Nothing: no code, or a composite that was returned before.
  [[nodiscard]] std::optional<CodeImage> of(Address base, const std::string& path, Arch arch,
                                            const MemoryReader& memory);

 private:
  std::mutex mutex_;
  std::unordered_set<std::string> known_;  ///< composite images found before
};

}  // namespace mixstack::agent
