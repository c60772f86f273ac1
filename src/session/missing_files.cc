#include "session/missing_files.h"

#include <optional>

#include "dotnet/code/runtime_package.h"

namespace mixstack::session {

void name_packages(std::vector<Diagnosis>& diagnoses,
                   std::span<const std::shared_ptr<const dotnet::KnownRuntime>> runtimes) {
  for (const auto& runtime : runtimes) {
    std::optional<std::string> package;
    for (Diagnosis& d : diagnoses) {
      if (d.error.code != ErrorCode::not_found || !dotnet::comes_with(runtime->image, d.subject)) continue;
      if (!package) package = dotnet::package_of(runtime->image);
      if (!package->empty()) d.text += "; the NuGet package " + *package + " has it";
    }
  }
}

}  // namespace mixstack::session
