// The Debian package that a file of the target belongs to.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/images/debug_file.h"

namespace mixstack::symbol_files {

struct DebianPackage {
  std::string name, version;
  std::vector<std::string> lists;  ///< files that may hold its list of files
};

/// The packages of /var/lib/dpkg/status (deb822(5)) that are installed. Entries that are no name or version of a
/// package (Debian Policy 5.6.1, 5.6.12) are left out.
[[nodiscard]] std::vector<DebianPackage> parse_dpkg_status(std::string_view text);

/// The package of each path, by the lists of dpkg as the target has them. A path counts with and without /usr in front:
/// libraries are listed where they lay before /lib and /usr/lib became one.
[[nodiscard]] std::map<std::string, DebianPackage> debian_packages_of(const std::set<std::string>& paths,
                                                                      const images::PathOpener& open);

/// The package with the debug files of a package: "libc6-dbg", "curl-dbgsym".
[[nodiscard]] std::string debug_package_of(const std::string& package);

}  // namespace mixstack::symbol_files
