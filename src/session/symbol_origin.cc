#include "session/symbol_origin.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/arch/cpu.h"
#include "dotnet/bcl/types.h"
#include "engine/symbol_files/debian_packages.h"
#include "engine/symbol_files/symbol_key.h"

namespace mixstack::session {
namespace {

constexpr const char* kMicrosoft = "https://msdl.microsoft.com/download/symbols";

/// Folders of shared frameworks and the packages that their files were released in.
constexpr std::array<std::pair<std::string_view, const char*>, 3> kFrameworks{{
    {"/shared/Microsoft.NETCore.App/", "Microsoft.NETCore.App.Runtime."},
    {"/shared/Microsoft.AspNetCore.App/", "Microsoft.AspNetCore.App.Runtime."},
    {"/host/fxr/", "Microsoft.NETCore.App.Runtime."},
}};

/// The debuginfod servers of distributions (by their documentation), by ID of os-release(5).
constexpr std::array<std::pair<std::string_view, const char*>, 4> kDebuginfod{{
    {"debian", "https://debuginfod.debian.net"},
    {"ubuntu", "https://debuginfod.ubuntu.com"},
    {"fedora", "https://debuginfod.fedoraproject.org"},
    {"arch", "https://debuginfod.archlinux.org"},
}};

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

/// The part between `front` and the next slash; empty: `front` is not there.
std::string part_behind(const std::string& path, std::string_view front) {
  const auto at = path.find(front);
  if (at == std::string::npos) return {};
  const auto begin = at + front.size(), end = path.find('/', begin);
  std::string part = end == std::string::npos ? std::string() : path.substr(begin, end - begin);
  return symbol_files::is_harmless(part) ? part : std::string();
}

class Origins {
 public:
  Origins(const ProcessDump& dump, const images::PathOpener& open) : dump_(dump), open_(open) {
    const bool is_musl = std::any_of(dump.symbols.begin(), dump.symbols.end(),
                                     [](const SymbolInfo& s) { return s.module.starts_with("ld-musl-"); });
    rid_ = std::string(is_musl ? "linux-musl-" : "linux-") + std::string(arch::cpu(dump.target.arch).rid);
  }

  /// False: not of .NET.
  bool is_of_dotnet(ModuleSymbols& module) const {
    for (const auto& [folder, package] : kFrameworks) {
      const std::string version = part_behind(module.path, folder);
      if (!version.empty()) return set(module, package + rid_, version, kMicrosoft);
    }
    constexpr std::string_view kNuget = "/.nuget/packages/";
    if (const std::string name = part_behind(module.path, kNuget); !name.empty())
      return set(module, name, part_behind(module.path, std::string(kNuget) + name + "/"), "");
    for (const RuntimeSummary& runtime : dump_.runtimes) {  // self-contained: the runtime lies beside it
      const bool is_beside = folder_of(runtime.module_path) == folder_of(module.path) && !runtime.version.empty();
      const bool is_runtimes = module.module.starts_with(dotnet::bcl::kSystem) || module.module.starts_with("lib");
      if (is_beside && is_runtimes) return set(module, kFrameworks[0].second + rid_, runtime.version, kMicrosoft);
    }
    return false;
  }

  [[nodiscard]] std::string server_of_distribution() const {
    const auto file = open_("/etc/os-release");
    constexpr std::size_t kMost = 64 << 10;
    if (!file || (*file)->size() > kMost) return {};
    const auto bytes = (*file)->bytes();
    const std::string text = "\n" + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) + "\n";
    for (const auto& [id, server] : kDebuginfod)
      for (const std::string& line : {"\nID=" + std::string(id) + "\n", "\nID=\"" + std::string(id) + "\"\n"})
        if (text.find(line) != std::string::npos) return server;
    return {};
  }

 private:
  static bool set(ModuleSymbols& module, std::string package, std::string version, const char* server) {
    module.package = std::move(package);
    module.package_version = std::move(version);
    module.server = server;
    return true;
  }

  const ProcessDump& dump_;
  const images::PathOpener& open_;
  std::string rid_;
};

}  // namespace

void find_origins(std::vector<ModuleSymbols>& modules, const ProcessDump& dump, const images::PathOpener& open) {
  const Origins origins(dump, open);
  std::vector<ModuleSymbols*> others;
  std::set<std::string> paths;
  for (ModuleSymbols& module : modules) {
    if (!module.is_missing() || origins.is_of_dotnet(module)) continue;
    if (module.kind != ModuleSymbols::Kind::native || module.path.empty() || module.path.front() != '/') continue;
    others.push_back(&module);
    paths.insert(module.path);
  }
  if (others.empty()) return;
  const std::string server = origins.server_of_distribution();
  const auto packages = symbol_files::debian_packages_of(paths, open);
  for (ModuleSymbols* module : others) {
    const auto at = packages.find(module->path);
    if (at == packages.end()) continue;
    module->package = symbol_files::debug_package_of(at->second.name);
    module->package_version = at->second.version;
    module->server = server;
  }
}

}  // namespace mixstack::session
