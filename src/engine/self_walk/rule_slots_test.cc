#include "engine/self_walk/rule_slots.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "support/host_cpu.h"

namespace mixstack::self_walk {
namespace {

constexpr Arch kCpu = test::kHostCpu;
constexpr std::size_t kSecond = 256;

struct Slots {
  alignas(64) std::array<std::byte, RuleSlots::kFirstSlots * RuleSlots::kSlotBytes> first{};
  alignas(64) std::array<std::byte, kSecond * RuleSlots::kSlotBytes> second{};
  std::atomic<std::uint32_t> spilled{0};
  RuleSlots slots{first.data(), second.data(), kSecond, spilled};

  [[nodiscard]] bool has(Address key, std::uint32_t owner) const {
    PackedRule rule;
    const bool is_found = slots.find_first<kCpu>(key, rule) || slots.find_second(key, rule);
    return is_found && rule.owner == owner;
  }
};

constexpr Address kCode = 0x7f0000001000;
// So far apart, two keys want the same place of the small table.
constexpr Address kApart = RuleSlots::kFirstSlots << (kCpu == Arch::aarch64 ? 2 : 0);

TEST(RuleSlots, ARuleThatHadToMoveIsStillFound) {
  const auto s = std::make_unique<Slots>();
  for (std::uint32_t i = 0; i < 40; i++) {
    const auto put = s->slots.put<kCpu>(kCode + i * kApart, {16, 8, 8, 0, i + 1});
    EXPECT_EQ(put.moved, i == 0 ? 0 : kCode + (i - 1) * kApart);
  }
  unsigned found = 0;
  for (std::uint32_t i = 0; i < 40; i++) found += s->has(kCode + i * kApart, i + 1);
  EXPECT_GE(found, 36u) << "of 40, in tables that have room for hundreds";
}

TEST(RuleSlots, WhatIsDroppedIsNotFoundInEitherTable) {
  for (const bool all : {false, true}) {
    const auto s = std::make_unique<Slots>();
    std::vector<Address> keys;
    for (std::uint32_t i = 0; i < 200; i++) keys.push_back(kCode + i * 4 + i % 2 * kApart);
    for (const Address key : keys) (void)s->slots.put<kCpu>(key, {16, 8, 8, 0, 5});
    const AddressRange dropped{kCode, kCode + 400};
    if (all) {
      s->slots.drop_all(dropped);
    } else {
      for (Address at = dropped.begin; at <= dropped.end; at++) s->slots.drop<kCpu>(at);
    }
    unsigned others = 0;
    for (const Address key : keys) {
      if (key >= dropped.begin && key <= dropped.end)
        EXPECT_FALSE(s->has(key, 5)) << std::hex << key;
      else
        others += s->has(key, 5);
    }
    EXPECT_GT(others, 100u);
  }
}

TEST(RuleTurns, AWalkThatBeganBeforeOrDuringATurnKeepsNothing) {
  RuleTurns turns;
  const std::uint64_t before = turns.present();
  EXPECT_NE(before, 0u);
  EXPECT_FALSE(turns.is_over(before));
  turns.begin();
  EXPECT_TRUE(turns.is_over(before));
  EXPECT_EQ(turns.present(), 0u);
  turns.end();
  EXPECT_TRUE(turns.is_over(before));
  EXPECT_NE(turns.present(), 0u);
  EXPECT_FALSE(turns.is_over(turns.present()));
}

}  // namespace
}  // namespace mixstack::self_walk
