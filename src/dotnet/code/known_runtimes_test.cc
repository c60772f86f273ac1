#include "dotnet/contracts/known/known_runtimes.h"

#include <gtest/gtest.h>

#include "dotnet/code/runtime.h"
#include "dotnet/contracts/contracts.h"

namespace mixstack::dotnet {
namespace {

constexpr std::string_view kList =
    "{\"version\":0,\"baseline\":\"empty\",\"types\":{},\"globals\":{},\"contracts\":{}}\n"
    "{\"version\":0,\"baseline\":\"empty\",\"types\":{},\"globals\":{\"A\":[[1],\"pointer\"],\"Z\":[[0],\"pointer\"]},"
    "\"contracts\":{\"Thread\":1}}\n\n"
    "aa01 linux-x64 10.0.99 10.0.9926.1 c0ffee 1000 1 0,20\n"
    "aa02 linux-arm64 8.0.1 8.0.126.1 c0ffee 2000 - -\n";

images::BuildId id_of(std::string_view hex) {
  images::BuildId id;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    id.bytes[id.size++] = static_cast<std::uint8_t>(std::stoul(std::string(hex.substr(i, 2)), nullptr, 16));
  return id;
}

TEST(KnownRuntimes, AreFoundByTheirBuildId) {
  const auto release = find_release(kList, "aa01");
  ASSERT_TRUE(release);
  EXPECT_EQ(release->rid, "linux-x64");
  EXPECT_EQ(release->version, "10.0.99");
  EXPECT_EQ(release->dac_table, 0x1000u);
  const auto descriptor = release->descriptor(0x7f0000);
  ASSERT_TRUE(descriptor);
  EXPECT_EQ(descriptor->global_number("A"), 0x7f0020u);
  EXPECT_EQ(descriptor->global_number("Z"), 0u) << "no address: it is not moved";
  EXPECT_EQ(descriptor->contract("Thread"), (ContractVersion{0, 1}));
}

TEST(KnownRuntimes, MayHaveNoDescriptor) {
  const auto release = find_release(kList, "aa02");
  ASSERT_TRUE(release);
  EXPECT_EQ(release->version, "8.0.1");
  EXPECT_FALSE(release->descriptor(0));
}

TEST(KnownRuntimes, OthersAreNotKnown) {
  EXPECT_FALSE(find_release(kList, "aa0"));
  EXPECT_FALSE(find_release(kList, ""));
  EXPECT_FALSE(find_release("", "aa01"));
  EXPECT_FALSE(known_release({}));
  EXPECT_FALSE(known_release(id_of("0123")));
}

// Build ids by `readelf -n` of the libraries in the packages.
TEST(KnownRuntimes, TheListHoldsReleases) {
  const auto ten = known_release(id_of("79945f51fb2612f13b7667a10a8fd29122664791"));
  ASSERT_TRUE(ten);
  EXPECT_EQ(package_of(ten->rid, ten->version), "microsoft.netcore.app.runtime.linux-x64 10.0.12");
  const auto descriptor = ten->descriptor(0x10000000);
  ASSERT_TRUE(descriptor);
  const auto contracts = Contracts::judge(*descriptor, resolve_layouts(*descriptor));
  EXPECT_TRUE(contracts.admits(Contract::execution_manager));
  EXPECT_TRUE(contracts.admits(Contract::stack_walk));
  const auto nine = known_release(id_of("2ec7d0a47c659ef94faf809ab153526b01b436b9"));
  ASSERT_TRUE(nine);
  EXPECT_EQ(nine->version, "9.0.18");
  EXPECT_NE(nine->dac_table, 0u);
  EXPECT_TRUE(nine->descriptor(0));
}

TEST(KnownRuntimes, VersionsOfFilesAreToldAsReleases) {
  const auto told = [](const char* version) {
    RuntimeImage image;
    image.version = version;
    return image.version_for_people();
  };
  EXPECT_EQ(told("10.0.1226.42308"), "10.0.12");
  EXPECT_EQ(told("11.0.26.53018"), "11.0.0") << "the first of a major version";
  for (const char* other : {"10.0.12", "12.0.0-preview.1.27101.5", "10.0", ""}) EXPECT_EQ(told(other), other);
}

TEST(KnownRuntimes, Of11AreReadByTheirOwnVersionOfTheDescriptor) {
  for (const auto& [id, rid] : {std::pair{"2e5299ab22fd653a381ea8fe12c9b89646056681", "linux-x64"},
                                std::pair{"d609bd1f4c20ae911f631467801d5e309bd5c130", "linux-musl-x64"},
                                std::pair{"8bf288ace59ee1c481cac272feef856d80cd0c3c", "linux-arm64"}}) {
    const auto eleven = known_release(id_of(id));
    ASSERT_TRUE(eleven) << rid;
    EXPECT_EQ(package_of(eleven->rid, eleven->version),
              "microsoft.netcore.app.runtime." + std::string(rid) + " 11.0.0");
    const auto descriptor = eleven->descriptor(0x10000000);
    ASSERT_TRUE(descriptor);
    EXPECT_EQ(descriptor->format(), Descriptor::kFormatOfLetters);
    EXPECT_TRUE(Contracts::judge(*descriptor, resolve_layouts(*descriptor)).refusals().empty());
  }
}

}  // namespace
}  // namespace mixstack::dotnet
