#include "features/record/outer_frames.h"

#include <gtest/gtest.h>

#include "support/sparse_memory.h"

namespace mixstack::record {
namespace {

constexpr Address kBegin = 0x10000, kEnd = 0x20000;

std::vector<std::byte> filled(std::size_t size, std::uint8_t value) { return std::vector(size, std::byte{value}); }

Frame frame_at(Address sp, Address pc) { return {.pc = CodeAddress::after_call(pc), .sp = sp}; }

class Deep : public ::testing::Test {
 protected:
  Deep() {
    memory.put_bytes(kBegin, filled(kEnd - kBegin, 1));
    EXPECT_TRUE(stack.read(memory, kBegin, kEnd, 100));
    stack.learn({frame_at(0x10100, 1), frame_at(0x14000, 2), frame_at(0x18000, 3), frame_at(0x1f000, 4)},
                StopReason::end_of_stack);
  }
  test::SparseMemory memory;
  OuterFrames stack;
};

TEST_F(Deep, GoesOnFromACopyWithTheSameEnd) {
  auto copy = filled(0x1000, 1);
  copy.front() = std::byte{7};  // further in it has moved
  const MemorySlice slice{0x13000, copy};
  EXPECT_TRUE(stack.goes_on_from(slice, 0x13800));
  EXPECT_EQ(stack.whole(slice).size(), kEnd - 0x13000);
  EXPECT_EQ(stack.whole(slice).front(), std::byte{7});
  copy.back() = std::byte{7};
  EXPECT_FALSE(stack.goes_on_from(slice, 0x13800));
  EXPECT_FALSE(stack.goes_on_from({0x1f800, copy}, 0x1f900)) << "it reaches beyond what was read";
}

TEST_F(Deep, ACopyThatReachesBeyondTheStackIsWhole) {
  const auto copy = filled(0x1000, 1);
  EXPECT_EQ(stack.whole({kEnd - 0x800, copy}).size(), copy.size());
  EXPECT_EQ(stack.whole({kEnd - 0x1000, copy}).size(), copy.size()) << "it ends with the stack";
  EXPECT_EQ(stack.whole({kBegin - 0x1800, copy}).size(), copy.size()) << "it ends before what was read";
}

TEST_F(Deep, FindsTheFrameThatACopyEndsWith) {
  EXPECT_EQ(stack.find(frame_at(0x18000, 3)), 2u);
  EXPECT_EQ(stack.find(frame_at(0x18000, 5)), std::nullopt) << "called from elsewhere";
  EXPECT_EQ(stack.find(frame_at(0x18008, 3)), std::nullopt);
  EXPECT_EQ(stack.first_above(0x15000, 101), 2u);
  EXPECT_EQ(stack.first_above(0x15000, 100), std::nullopt) << "it was read later";
  EXPECT_EQ(stack.first_above(0x1f001, 101), std::nullopt);
}

TEST_F(Deep, ForgetsFramesWhoseMemoryHasChanged) {
  stack.nodes(0).back() = 17;
  memory.put_bytes(0x14008, filled(1, 9));
  EXPECT_TRUE(stack.read(memory, kBegin, kEnd, 200));
  EXPECT_EQ(stack.frames().size(), 2u);
  EXPECT_EQ(stack.find(frame_at(0x18000, 3)), 0u);
  EXPECT_EQ(stack.nodes(0), (std::vector<std::uint32_t>{0, 17}));
  stack.learn({frame_at(0x13000, 2), frame_at(0x18000, 5), frame_at(0x1f000, 4)}, StopReason::end_of_stack);
  EXPECT_EQ(stack.first_above(0x15000, 201), 1u);
  EXPECT_EQ(stack.first_above(0x15000, 150), 2u) << "the outermost alone was known then";
  EXPECT_TRUE(stack.is_of(200, kBegin));
  EXPECT_FALSE(stack.is_of(201, kBegin));
}

TEST_F(Deep, IsBounded) {
  EXPECT_FALSE(stack.read(memory, 0, OuterFrames::kMostBytes + 8, 200));
  EXPECT_FALSE(stack.read(memory, kBegin, kEnd + 8, 200)) << "what cannot be read";
  OuterFramesOfThreads all;
  EXPECT_TRUE(all.may_walk(1));
  all.spent(10'000'000'000);
  EXPECT_FALSE(all.may_walk(2));
  EXPECT_FALSE(all.may_walk(1'000'000'000));
}

TEST(StackEnd, IsThatOfTheMemoryWithoutAGap) {
  const auto region = [](Address begin, Address end, bool writable) {
    Region r;
    r.range = {begin, end};
    r.readable = true;
    r.writable = writable;
    return r;
  };
  const std::vector<Region> regions{region(0x1000, 0x2000, true), region(0x2000, 0x3000, true),
                                    region(0x3000, 0x4000, false), region(0x5000, 0x6000, true)};
  EXPECT_EQ(stack_end_of(regions, 0x1800), 0x3000u);
  EXPECT_EQ(stack_end_of(regions, 0x3800), 0u);
  EXPECT_EQ(stack_end_of(regions, 0x4800), 0u);
}

}  // namespace
}  // namespace mixstack::record
