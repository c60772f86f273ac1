#include "features/symbols/usual_places.h"

#include <dirent.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "engine/symbol_files/symbol_path.h"
#include "output/report/escape.h"

namespace mixstack::symbol_answers {
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

SymbolOptions symbol_options_of_environment() {
  SymbolOptions options;
  options.path = variable("MIXSTACK_SYMBOL_PATH");
  options.debuginfod_urls = variable("DEBUGINFOD_URLS");
  options.cache = user_cache_folder("symbols");
  options.proxies = proxies_of_environment();
  return options;
}

SymbolOptions without_servers(SymbolOptions options) {
  options.time_for_all = std::chrono::milliseconds(0);
  return options;
}

SymbolOptions with_servers(SymbolOptions options, std::chrono::milliseconds time) {
  constexpr std::string_view kMicrosoft = "https://msdl.microsoft.com/download/symbols";
  options.time_for_all = time;
  if (options.path.find("://") == std::string::npos && options.debuginfod_urls.empty())
    options.path += (options.path.empty() ? "" : ";") + std::string(kMicrosoft);
  return options;
}

std::vector<std::string> missing_folders(const SymbolOptions& options) {
  using Place = symbol_files::SymbolPlace;
  std::vector<std::string> missing;
  for (const Place& place : symbol_files::parse_symbol_path(options.path, {}).places) {
    if (place.kind != Place::Kind::folder) continue;
    if (DIR* folder = ::opendir(place.where.c_str()); folder != nullptr) {
      ::closedir(folder);
      continue;
    }
    missing.push_back(report::escape_for_terminal(place.where) + ": " + std::generic_category().message(errno));
  }
  return missing;
}

}  // namespace mixstack::symbol_answers
