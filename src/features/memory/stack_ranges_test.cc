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
  AddressRange stack() { return stack_of(memory_, mapping_, kSp, 4096); }
  test::SparseMemory memory_;
  Region mapping_;
};

TEST_F(StackRangesTest, EndsBehindTheThreadsOwnBlock) { EXPECT_EQ(stack(), (AddressRange{kBegin, kEnd})); }

TEST_F(StackRangesTest, WithoutSuchABlockItIsTheMapping) {
  memory_.put_u64(kBlock + 16, kBlock + 8);
  EXPECT_EQ(stack(), mapping_.range);
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
