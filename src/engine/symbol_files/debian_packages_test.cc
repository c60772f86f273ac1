#include "engine/symbol_files/debian_packages.h"

#include <gtest/gtest.h>

#include "engine/images/file_bytes.h"

namespace mixstack::symbol_files {
namespace {

constexpr std::string_view kStatus = R"(Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u14
Description: GNU C Library
 Version: 9 (not a field)

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: ../../evil
Status: install ok installed
Architecture: amd64
Version: 1

Package: tool
Status: install ok installed
Architecture: all
Version: 1:2~rc1
)";

images::PathOpener files(std::map<std::string, std::string> all) {
  return [all = std::move(all)](const std::string& path) -> Result<std::shared_ptr<const FileBytes>> {
    const auto at = all.find(path);
    if (at == all.end()) return fail(ErrorCode::not_found);
    const auto bytes = std::as_bytes(std::span(at->second));
    return images::buffer_file_bytes({bytes.begin(), bytes.end()});
  };
}

TEST(DebianPackages, InstalledOnesWithSaneNames) {
  const auto packages = parse_dpkg_status(kStatus);
  ASSERT_EQ(packages.size(), 2u);
  EXPECT_EQ(packages[0].name + " " + packages[0].version, "libc6 2.36-9+deb12u14");
  EXPECT_EQ(packages[0].lists,
            (std::vector<std::string>{"/var/lib/dpkg/info/libc6.list", "/var/lib/dpkg/info/libc6:amd64.list"}));
  EXPECT_EQ(packages[1].name + " " + packages[1].version, "tool 1:2~rc1");
}

TEST(DebianPackages, OfAFileWithAndWithoutUsr) {
  const auto open = files({{"/var/lib/dpkg/status", std::string(kStatus)},
                           {"/var/lib/dpkg/info/libc6:amd64.list", "/.\n/lib\n/lib/x86_64-linux-gnu/libc.so.6\n"},
                           {"/var/lib/dpkg/info/tool.list", "/usr/bin/tool\n"}});
  const auto found = debian_packages_of({"/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/tool", "/nobody's"}, open);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found.at("/usr/lib/x86_64-linux-gnu/libc.so.6").name, "libc6");
  EXPECT_EQ(found.at("/bin/tool").name, "tool");
  EXPECT_TRUE(debian_packages_of({"/bin/tool"}, files({})).empty());
}

TEST(DebianPackages, WhereTheirSymbolsAre) {
  EXPECT_EQ(debug_package_of("libc6"), "libc6-dbg");
  EXPECT_EQ(debug_package_of("libstdc++6"), "libstdc++6-dbgsym");
}

}  // namespace
}  // namespace mixstack::symbol_files
