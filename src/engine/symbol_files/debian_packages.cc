#include "engine/symbol_files/debian_packages.h"

#include <algorithm>

namespace mixstack::symbol_files {
namespace {

constexpr std::size_t kMostPackages = 20'000;
constexpr std::size_t kMostStatusBytes = 64u << 20, kMostListBytes = 16u << 20;
constexpr std::size_t kLongest = 200;

bool is_made_of(std::string_view text, std::string_view others) {
  return !text.empty() && text.size() <= kLongest && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           others.find(c) != std::string_view::npos;
  });
}

template <class Use>
void for_each_line(std::string_view text, Use use) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool take_field(std::string_view line, std::string_view field, std::string_view& value) {
  if (!line.starts_with(field)) return false;
  value = line.substr(field.size());
  return true;
}

std::string text_of(const std::string& path, std::size_t most, const images::PathOpener& open) {
  const auto file = open(path);
  if (!file || *file == nullptr || (*file)->size() > most) return {};
  const auto bytes = (*file)->bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// "/usr/lib/x" for "/lib/x" and the other way.
std::string other_form(const std::string& path) { return path.starts_with("/usr/") ? path.substr(4) : "/usr" + path; }

}  // namespace

std::vector<DebianPackage> parse_dpkg_status(std::string_view text) {
  std::vector<DebianPackage> packages;
  std::string_view name, version, architecture;
  bool is_installed = false;
  const auto finish = [&] {
    if (is_installed && is_made_of(name, "+-.") && is_made_of(version, "+-.~:") && is_made_of(architecture, "-") &&
        packages.size() < kMostPackages)
      packages.push_back({std::string(name),
                          std::string(version),
                          {"/var/lib/dpkg/info/" + std::string(name) + ".list",
                           "/var/lib/dpkg/info/" + std::string(name) + ":" + std::string(architecture) + ".list"}});
    name = version = architecture = {};
    is_installed = false;
  };
  for_each_line(text, [&](std::string_view line) {
    std::string_view status;
    if (line.empty()) finish();
    if (take_field(line, "Status: ", status)) is_installed = status.ends_with(" installed");
    (void)(take_field(line, "Package: ", name) || take_field(line, "Version: ", version) ||
           take_field(line, "Architecture: ", architecture));
  });
  finish();
  return packages;
}

std::map<std::string, DebianPackage> debian_packages_of(const std::set<std::string>& paths,
                                                        const images::PathOpener& open) {
  std::map<std::string, DebianPackage> found;
  std::map<std::string, std::string, std::less<>> wanted;  // as a list may have it -> as it was asked
  for (const std::string& path : paths) {
    wanted[path] = path;
    wanted[other_form(path)] = path;
  }
  if (paths.empty()) return found;
  const std::string status = text_of("/var/lib/dpkg/status", kMostStatusBytes, open);
  for (const DebianPackage& package : parse_dpkg_status(status)) {
    std::string list;
    for (const std::string& path : package.lists)
      if (list.empty()) list = text_of(path, kMostListBytes, open);
    for_each_line(list, [&](std::string_view line) {
      if (const auto at = wanted.find(line); at != wanted.end()) found.try_emplace(at->second, package);
    });
    if (found.size() == paths.size()) break;
  }
  return found;
}

std::string debug_package_of(const std::string& package) {
  return package == "libc6" ? "libc6-dbg" : package + "-dbgsym";
}

}  // namespace mixstack::symbol_files
