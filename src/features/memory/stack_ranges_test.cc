#include "features/memory/stack_ranges.h"

#include <gtest/gtest.h>

#include "support/sparse_memory.h"

namespace mixstack::memory_use {
namespace {

/// A stack of three pages, with what glibc keeps of its thread in the last one, and strangers' pages right above.
class StackRangesTest : public ::testing::Test {
 protected:
  static constexpr Address kBegin = 0x7f0000000000, kEnd = kBegin + 0x3000, kBlock = kEnd - 0x940,
                           kSp = kBegin + 0x1238;
  StackRangesTest() {
    memory_.map(kBegin, 0x10000);
    memory_.put_u64(kBlock, kBlock);
    memory_.put_u64(kBlock + 16, kBlock);
    mapping_.range = {kBegin, kBegin + 0x10000};
    mapping_.readable = mapping_.writable = true;
  }
  AddressRange stack() { return stack_of(memory_, mapping_, kSp, 4096, Arch::x86_64); }
  test::SparseMemory memory_;
  Region mapping_;
};

TEST_F(StackRangesTest, EndsBehindTheThreadsOwnBlock) { EXPECT_EQ(stack(), (AddressRange{kBegin, kEnd})); }

TEST_F(StackRangesTest, WithoutSuchABlockItIsTheMapping) {
  memory_.put_u64(kBlock + 16, kBlock + 8);
  EXPECT_EQ(stack(), mapping_.range);
}

/// ARM64 has the variables of a thread above its block, which does not refer to itself.
class StackRangesArm64Test : public StackRangesTest {
 protected:
  static constexpr Address kOwn = kEnd - 0x10c0, kLink = kOwn + 0xc0, kHead = kBegin + 0x8000;
  StackRangesArm64Test() {
    memory_.put_u64(kLink, kHead);
    memory_.put_u64(kLink + 8, kHead);
    memory_.put_u32(kLink + 16, 4711);
    memory_.put_u64(kHead, kLink);
    memory_.put_u64(kHead + 8, kLink);
    memory_.put_u64(kOwn + 0x490, kBegin - 0x10000);
    memory_.put_u64(kOwn + 0x498, 0x13000);
  }
  AddressRange arm64_stack(std::uint64_t page_bytes = 4096) {
    return stack_of(memory_, mapping_, kSp, page_bytes, Arch::aarch64);
  }
};

TEST_F(StackRangesArm64Test, EndsWhereTheThreadsOwnBlockSays) {
  EXPECT_EQ(arm64_stack(), (AddressRange{kBegin, kEnd}));
  EXPECT_EQ(arm64_stack(0x10000), (AddressRange{kBegin, kBegin + 0x10000}));  // pages of 64 kB
}

TEST_F(StackRangesArm64Test, ABlockOutOfTheListIsNone) {
  memory_.put_u64(kHead + 8, kLink + 8);
  EXPECT_EQ(arm64_stack(), mapping_.range);
  memory_.put_u64(kHead + 8, kLink);
  memory_.put_u32(kLink + 16, 0);
  EXPECT_EQ(arm64_stack(), mapping_.range);
}

TEST_F(StackRangesArm64Test, ABlockOfAnotherStackIsNone) {
  memory_.put_u64(kOwn + 0x490, kSp + 0x100);
  EXPECT_EQ(arm64_stack(), mapping_.range);
  memory_.put_u64(kOwn + 0x490, kBegin - 0x10000);
  memory_.put_u64(kOwn + 0x498, 0x11000);  // ends below its own block
  EXPECT_EQ(arm64_stack(), mapping_.range);
  memory_.put_u64(kOwn + 0x498, ~std::uint64_t{0});
  EXPECT_EQ(arm64_stack(), mapping_.range);
}

TEST_F(StackRangesTest, TheMainThreadsIsTheMapping) {
  mapping_.path = "[stack]";
  EXPECT_EQ(stack(), mapping_.range);
}

TEST_F(StackRangesTest, StacksAreWritableAndPrivate) {
  EXPECT_TRUE(is_of_stacks(mapping_));
  mapping_.shared = true;
  EXPECT_FALSE(is_of_stacks(mapping_));
  mapping_.shared = false;
  mapping_.path = "/a/file";
  EXPECT_FALSE(is_of_stacks(mapping_));
}

}  // namespace
}  // namespace mixstack::memory_use
