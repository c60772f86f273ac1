#include "engine/symbols/perf_map.h"

#include <gtest/gtest.h>

namespace mixstack::symbols {
namespace {

std::string name_at(const PerfMap& map, Address address) {
  const auto entry = map.find(address);
  return entry ? entry->name : "";
}

TEST(PerfMap, NamesWhatItsLinesCover) {
  const PerfMap map(
      "7f0010 20 LazyCompile:~fib /srv/app.js:3:14\n"
      "0x7f0000 0x10 [0x2000] unbound\r\n"
      "7f0030\t8\tvoid [App] Program::Main(string[])[Tier0]  \n");
  EXPECT_EQ(map.size(), 3u);
  EXPECT_EQ(name_at(map, 0x7effff), "");
  EXPECT_EQ(name_at(map, 0x7f0000), "[0x2000] unbound");
  EXPECT_EQ(name_at(map, 0x7f000f), "[0x2000] unbound");
  EXPECT_EQ(name_at(map, 0x7f0010), "LazyCompile:~fib /srv/app.js:3:14");
  EXPECT_EQ(name_at(map, 0x7f0030), "void [App] Program::Main(string[])[Tier0]");
  EXPECT_EQ(name_at(map, 0x7f0038), "");
  EXPECT_EQ(map.find(0x7f0031)->range, (AddressRange{0x7f0030, 0x7f0038}));
}

TEST(PerfMap, LaterEntriesReplaceEarlierOnesAsAWhole) {
  const PerfMap map(
      "1000 100 first\n"
      "2000 100 kept\n"
      "1080 10 second\n"
      "1000 10 third\n"
      "1088 10 fourth\n");
  EXPECT_EQ(map.size(), 3u);
  EXPECT_EQ(name_at(map, 0x1000), "third");
  EXPECT_EQ(name_at(map, 0x1010), "") << "the first was freed, whoever is there now";
  EXPECT_EQ(name_at(map, 0x1080), "") << "the second was there meanwhile, and is gone, too";
  EXPECT_EQ(name_at(map, 0x1088), "fourth");
  EXPECT_EQ(name_at(map, 0x10ff), "");
  EXPECT_EQ(name_at(map, 0x2080), "kept");
}

TEST(PerfMap, NeighboursDoNotOverlap) {
  const PerfMap map("1010 10 b\n1000 10 a\n1020 10 c\n");
  EXPECT_EQ(name_at(map, 0x100f) + name_at(map, 0x1010) + name_at(map, 0x101f) + name_at(map, 0x1020), "abbc");
}

TEST(PerfMap, ALineThatMayStillBeWrittenIsLeftOut) {
  EXPECT_EQ(PerfMap("1000 10 whole\n2000 10 cut of").size(), 1u);
  EXPECT_EQ(PerfMap("1000 10 no end").size(), 0u);
  EXPECT_EQ(PerfMap("").size(), 0u);
  EXPECT_EQ(PerfMap("\n").size(), 0u);
}

TEST(PerfMap, LinesThatAreNoneAreLeftOut) {
  const PerfMap map(
      "\n\n1000\n1000 10\n1000 10 \n1000 0 empty\n1000 -5 less\nxyz 10 no number\n1000 100000000 too large\n"
      "ffffffffffffffff 2 beyond the end\n11112222333344445 10 too long a number\n1000g 10 not hexadecimal\n"
      " 1000 10 begins with a blank\n2000 10 good\n");
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(name_at(map, 0x2000), "good");
}

TEST(PerfMap, NamesAreCleanedAndBounded) {
  std::string text = "1000 10 a\x1b[31m\xff z\n2000 10 " + std::string(100'000, 'n') + "\n3000 10 nul";
  text += '\0';
  text += "more\n";
  const PerfMap map(std::move(text));
  EXPECT_EQ(name_at(map, 0x1000), "a\\x1b[31m\\xff z");
  EXPECT_LE(name_at(map, 0x2000).size(), PerfMap::kMostNameBytes);
  EXPECT_GT(name_at(map, 0x2000).size(), PerfMap::kMostNameBytes - 8);
  EXPECT_EQ(name_at(map, 0x3000), "nul\\x00more");
}

TEST(PerfMap, OfTooManyEntriesTheLastCount) {
  std::string text;
  for (std::size_t i = 0; i < PerfMap::kMostEntries + 10; i++) text += "1000 1 x\n";
  const PerfMap map("2000 1 first\n" + text + "3000 1 last\n");
  EXPECT_EQ(name_at(map, 0x2000), "");
  EXPECT_EQ(name_at(map, 0x3000), "last");
}

}  // namespace
}  // namespace mixstack::symbols
