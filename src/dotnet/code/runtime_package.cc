#include "dotnet/code/runtime_package.h"

#include <algorithm>

#include "base/arch/per_cpu.h"
#include "dotnet/bcl/types.h"
#include "dotnet/contracts/known/known_runtimes.h"

namespace mixstack::dotnet {
namespace {

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/')); }

}  // namespace

std::string package_of(const RuntimeImage& runtime) {
  if (const auto release = known_release(runtime.build_id)) return package_of(release->rid, release->version);
  constexpr arch::PerCpu<std::string_view> kCpus{.x86_64 = "x64", .aarch64 = "arm64", .x86 = "x86", .arm = "arm"};
  const std::string cpu(kCpus[runtime.arch]);
  if (runtime.version.empty() || cpu.empty()) return {};
  return package_of("linux-" + cpu, runtime.version_for_people()) + " (for musl: linux-musl-" + cpu + ")";
}

bool comes_with(const RuntimeImage& runtime, std::string_view path) {
  if (runtime.is_single_file || folder_of(path) != folder_of(runtime.path)) return false;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return std::any_of(bcl::kFiles.begin(), bcl::kFiles.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

}  // namespace mixstack::dotnet
