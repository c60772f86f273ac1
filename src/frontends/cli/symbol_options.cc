#include "frontends/cli/symbol_options.h"

#include <dirent.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "engine/symbol_files/symbol_path.h"
#include "frontends/cli/fd_output.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

/// Empty: not set.
std::string variable(const char* name) {
  const char* value = ::secure_getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace

// XDG Base Directory Specification: relative paths are ignored.
std::string user_cache_folder(const std::string& name) {
  std::string base = variable("XDG_CACHE_HOME");
  if (base.empty() || base.front() != '/') {
    const std::string home = variable("HOME");
    if (home.empty() || home.front() != '/') return {};
    base = home + "/.cache";
  }
  return base + "/mixstack/" + name;
}

std::vector<std::string> proxies_of_environment() {
  std::vector<std::string> proxies;
  for (const char* name :
       {"http_proxy", "https_proxy", "no_proxy", "HTTPS_PROXY", "NO_PROXY", "all_proxy", "ALL_PROXY"})
    if (const std::string value = variable(name); !value.empty()) proxies.push_back(name + ("=" + value));
  return proxies;
}

SymbolOptions symbol_options(const DumpArguments& arguments) {
  SymbolOptions options;
  options.lines = arguments.native_lines;
  options.path = arguments.symbol_path ? *arguments.symbol_path : variable("MIXSTACK_SYMBOL_PATH");
  options.debuginfod_urls = variable("DEBUGINFOD_URLS");
  options.cache = user_cache_folder("symbols");
  options.proxies = proxies_of_environment();
  return options;
}

void warn_of_missing_folders(const SymbolOptions& options, const Environment& environment) {
  using Place = symbol_files::SymbolPlace;
  for (const Place& place : symbol_files::parse_symbol_path(options.path, {}).places) {
    if (place.kind != Place::Kind::folder) continue;
    if (DIR* folder = ::opendir(place.where.c_str()); folder != nullptr) {
      ::closedir(folder);
      continue;
    }
    FdOutput(environment.err)
        .write(fmt::format("mixstack: warning: symbol path: {}: {}\n", report::escape_for_terminal(place.where),
                           std::generic_category().message(errno)));
  }
}

}  // namespace mixstack::cli
