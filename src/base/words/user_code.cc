#include "base/words/user_code.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "dotnet/bcl/types.h"

namespace mixstack {
namespace {

std::string_view folder_of(std::string_view path) { return path.substr(0, path.rfind('/') + 1); }

/// "/usr/share/dotnet/shared/" from "/usr/share/dotnet/shared/Microsoft.NETCore.App/10.0.0/libcoreclr.so": other
/// frameworks are siblings of the runtime's. Empty if the program brings its own runtime.
std::string_view framework_folder(std::string_view runtime) {
  const std::size_t shared = runtime.rfind("/shared/");
  return shared == std::string_view::npos ? std::string_view() : runtime.substr(0, shared + 8);
}

bool is_frameworks_name(std::string_view module) {
  using dotnet::bcl::kAssemblies, dotnet::bcl::kWholeAssemblies;
  return std::any_of(kAssemblies.begin(), kAssemblies.end(), [&](auto p) { return module.starts_with(p); }) ||
         std::find(kWholeAssemblies.begin(), kWholeAssemblies.end(), module) != kWholeAssemblies.end();
}

bool starts_with_any(std::string_view name, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(), [&](auto p) { return name.starts_with(p); });
}

/// Methods named from the program's metadata have C# names with parameters, which no linker symbol has. Linker symbols
/// begin with their assembly's name: "S_P_CoreLib_System_String__Concat", "shop_Cart__Add".
bool is_aot_user(const SymbolInfo& symbol) {
  constexpr std::string_view kAssemblies[] = {"S_P_", "System_", "Microsoft_", "Internal_"};
  const std::string_view name = symbol.name;
  if (symbol.raw_name.find('(') != std::string::npos) return !starts_with_any(name, dotnet::bcl::kNamespaces);
  const std::size_t method = name.find("__");
  return method != std::string_view::npos && method != 0 && !name.starts_with("Rhp") &&
         !starts_with_any(name, kAssemblies);
}

/// `dotnet app.dll`: the program is the assembly given to the host.
std::string_view program_path(const UserCode::Program& program) {
  const std::string_view executable = program.executable;
  if (executable.substr(folder_of(executable).size()) != "dotnet") return executable;
  for (std::size_t i = 1; i < program.command_line.size(); i++)
    if (program.command_line[i].ends_with(".dll") && program.command_line[i].starts_with('/'))
      return program.command_line[i];
  return {};
}

}  // namespace

bool is_runtimes_image(std::string_view name) {
  constexpr std::string_view kPrefixes[] = {"libcoreclr", "libclr", "libhost", "libSystem.", "libmscor"};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes), [&](auto p) { return name.starts_with(p); });
}

UserCode::UserCode(const Program& program)
    : folder_(folder_of(program_path(program))),
      framework_(framework_folder(program.runtime)),
      runtime_image_(program.runtime),
      is_aot_(program.is_aot) {
  if (folder_.size() < 2) folder_.clear();
}

bool UserCode::is_user(const SymbolInfo& symbol, FrameKind kind) const {
  const std::string_view path = symbol.module_path;
  if (kind == FrameKind::managed) {
    if (symbol.module.empty() || is_frameworks_name(symbol.module)) return false;
    return framework_.empty() || !path.starts_with(framework_);
  }
  if (is_aot_ && kind == FrameKind::native && path == runtime_image_) return is_aot_user(symbol);
  // A host without symbols is .NET's own.
  return kind == FrameKind::native && !symbol.name.empty() && !folder_.empty() && path.starts_with(folder_) &&
         path != runtime_image_ && !is_runtimes_image(symbol.module);
}

}  // namespace mixstack
