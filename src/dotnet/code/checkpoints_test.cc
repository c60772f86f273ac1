#include "dotnet/code/checkpoints.h"

#include <gtest/gtest.h>

#include "support/dotnet_memory.h"

namespace mixstack::dotnet {
namespace {

using test::DotnetCode;
using test::DotnetMemory;

constexpr Address kHeap = 0x7f1200000000, kHeapEnd = kHeap + 0x40000, kReturn = kHeap + 0x180;
constexpr Address kStack = 0x7ffc00000000, kStackEnd = kStack + 0x80000, kOther = 0x7ffd00000000;
constexpr Address kNewer = kStack + 0x1000, kOlder = kStack + 0x2000;

/// Two calls from managed code, one below the other, each with its InlinedCallFrame.
class Checkpoints : public testing::Test {
 protected:
  Checkpoints() : code_(t_) {
    code_.add_heap(kHeap, kHeapEnd);
    code_.add_method(kHeap + 0x100, 0x300, 0xabc0, {{0, 0x300, DotnetCode::push_rbp()}});
    t_.put_frame(kNewer, FrameType::inlined_call, kOlder);
    t_.put_frame(kOlder, FrameType::inlined_call);
    put_call(kNewer, kNewer - 0x10);
    put_call(kOlder, kOlder - 0x10);
    thread_.frame = kNewer;
    thread_.stack = {kStack, kStackEnd};
  }
  void put_call(Address frame, Address sp) {
    const auto& l = t_.layouts.inlined_call_frame;
    t_.memory.put_u64(frame + l.call_site_sp.offset, sp);
    t_.memory.put_u64(frame + l.caller_return_address.offset, kReturn);
    t_.memory.put_u64(frame + l.callee_saved_fp.offset, sp + 0x40);
  }
  /// Whether the older Frame is a place to resume when it says that sp.
  bool resumes_at(Address sp) {
    put_call(kOlder, sp);
    CodeManager manager(t_.runtime(), t_.contracts);
    const CheckpointList list = read_checkpoints(manager, thread_, false);
    EXPECT_EQ(list.error.code, ErrorCode::none);
    EXPECT_EQ(list.checkpoints.size(), 2u);
    return list.checkpoints.size() == 2 && list.checkpoints[0].resumes && list.checkpoints[1].resumes;
  }

  DotnetMemory t_;
  DotnetCode code_;
  ManagedThread thread_;
};

TEST_F(Checkpoints, ACallsFrameLiesAboveItsSp) {
  EXPECT_TRUE(resumes_at(kOlder - 0x10));
  EXPECT_TRUE(resumes_at(kOlder));
  EXPECT_TRUE(resumes_at(kNewer + 8));  // a method with large locals
  EXPECT_FALSE(resumes_at(kOlder + 8));
}

TEST_F(Checkpoints, WhatWasCalledHasItsFramesBelow) {
  EXPECT_FALSE(resumes_at(kNewer));
  EXPECT_FALSE(resumes_at(kNewer - 0x10));
}

// Found by typed damages: the Frame of one thread with the CallSiteSP of another showed the other's stack as its own.
TEST_F(Checkpoints, NoFrameLeadsToAnotherStack) {
  EXPECT_FALSE(resumes_at(kOther));
  EXPECT_FALSE(resumes_at(kStack - 0x1000));
  EXPECT_FALSE(resumes_at(0));
}

TEST_F(Checkpoints, WhatLiesBelowTheThreadsSpIsDead) {
  CodeManager manager(t_.runtime(), t_.contracts);
  const auto resumes = [&](Address sp) {
    CheckpointList list = read_checkpoints(manager, thread_, false);
    forget_dead_places(list, thread_, sp);
    return std::pair(list.checkpoints.at(0).resumes, list.checkpoints.at(1).resumes);
  };
  EXPECT_EQ(resumes(kNewer - 0x100), std::pair(true, true));
  EXPECT_EQ(resumes(kNewer - 0x10), std::pair(true, true));
  EXPECT_EQ(resumes(kNewer - 8), std::pair(false, true));
  EXPECT_EQ(resumes(kOther), std::pair(true, true));  // a signal handler's stack
}

TEST_F(Checkpoints, ATransitionsBlockIsOnTheThreadsStack) {
  t_.put_frame(kOlder, FrameType::stub_dispatch);
  const auto& l = t_.layouts;
  const auto resumes = [&](Address block) {
    t_.memory.map(block, 0x100);
    t_.memory.put_u64(block + l.transition_block.return_address.offset, kReturn);
    t_.memory.put_u64(kOlder + l.framed_method_frame.transition_block.offset, block);
    CodeManager manager(t_.runtime(), t_.contracts);
    const CheckpointList list = read_checkpoints(manager, thread_, false);
    return list.checkpoints.size() == 2 && list.checkpoints[1].resumes;
  };
  EXPECT_TRUE(resumes(kOlder + 0x200));
  EXPECT_FALSE(resumes(kOther));
}

}  // namespace
}  // namespace mixstack::dotnet
