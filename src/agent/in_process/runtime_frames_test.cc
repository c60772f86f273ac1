#include "agent/in_process/runtime_frames.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cstring>
#include <vector>

#include "base/memory/buffer_memory.h"
#include "base/memory/system_call.h"

namespace mixstack::agent {
namespace {

constexpr const char* kDescriptor =
    R"({"version":0,"types":{"Thread":{"Id":16,"OSId":40,"Frame":8},"Frame":{"Next":8},)"
    R"("InlinedCallFrame":{"!":56,"CallSiteSP":24,"CallerReturnAddress":32,"CalleeSavedFP":40}},)"
    R"("globals":{"InlinedCallFrameIdentifier":["0x1","nuint"],"GCThread":3},"contracts":{"Thread":1}})";

TEST(RuntimeFrames, LayoutAsTheDescriptorTells) {
  const auto layout = FrameListLayout::in(kDescriptor);
  ASSERT_TRUE(layout);
  EXPECT_EQ(layout->first, 8u);
  EXPECT_EQ(layout->os_id, 40u);
  EXPECT_EQ(layout->next, 8u);
  EXPECT_EQ(layout->sp, 24u);
  EXPECT_EQ(layout->caller, 32u);
  EXPECT_EQ(layout->fp, 40u);
  EXPECT_EQ(layout->inlined_call, 1u);
}

TEST(RuntimeFrames, WhatTheDescriptorDoesNotTellIsNotGuessed) {
  const std::string whole = kDescriptor;
  for (const char* name : {"\"OSId\"", "\"Frame\":8", "\"Next\"", "\"CallSiteSP\"", "\"CallerReturnAddress\"",
                           "\"CalleeSavedFP\"", "\"InlinedCallFrameIdentifier\""}) {
    std::string without = whole;
    without.replace(without.find(name) + 1, 1, "?");
    EXPECT_FALSE(FrameListLayout::in(without)) << name;
  }
  EXPECT_FALSE(FrameListLayout::in(""));
  std::string far = whole;
  far.replace(far.find("24"), 2, "4097");
  EXPECT_FALSE(FrameListLayout::in(far));
}

/// Our own thread's object at kObject, and a stack with Frames on it.
class RuntimeFramesList : public testing::Test {
 protected:
  static constexpr Address kObject = 0x10000, kStack = 0x20000, kEnd = ~Address{0};
  static constexpr AddressRange kBounds{kStack, kStack + 0x1000};
  static std::uint32_t tid() { return static_cast<std::uint32_t>(memory::system_call(SYS_gettid)); }

  void put(Address at, std::uint64_t value) {
    auto& bytes = at >= kStack ? stack_ : object_;
    std::memcpy(&bytes[at - (at >= kStack ? kStack : kObject)], &value, sizeof(value));
  }
  void put_frame(Address at, Address next, std::uint64_t kind, Address sp, Address pc, Address fp) {
    put(at, kind), put(at + 8, next), put(at + 24, sp), put(at + 32, pc), put(at + 40, fp);
  }
  void SetUp() override {
    put(kObject + 40, tid());
    put(kObject + 8, kStack + 0x100);
    put_frame(kStack + 0x100, kStack + 0x200, 1, kStack + 0xf0, 0x1001, 0xa);
    put_frame(kStack + 0x200, kStack + 0x300, 7, 0, 0, 0);               // of another kind
    put_frame(kStack + 0x300, kStack + 0x400, 1, kStack + 0x2f0, 0, 0);  // in no call
    put_frame(kStack + 0x400, kEnd, 1, kStack + 0x3f0, 0x1004, 0xd);
    frames_.began({kObject, tid()});
  }
  [[nodiscard]] std::vector<Address> all(Address sp = kStack) {
    memory::BufferMemory memory;
    memory.add(kObject, object_);
    memory.add(kStack, stack_);
    std::vector<Address> found;
    Address place = 0;
    self_walk::OuterFrame frame;
    while (found.size() < 100 && frames_.next(sp, kBounds, memory, place, frame)) {
      found.push_back(frame.pc);
      sp = frame.sp;
    }
    return found;
  }

  std::vector<std::byte> object_ = std::vector<std::byte>(0x100), stack_ = std::vector<std::byte>(0x1000);
  RuntimeFrames frames_{FrameListLayout::in(kDescriptor)};
};

using Pcs = std::vector<Address>;

TEST_F(RuntimeFramesList, CallsThatRunInnermostFirst) {
  EXPECT_EQ(all(), (Pcs{0x1001, 0x1004}));
  EXPECT_EQ(all(kStack + 0xef), (Pcs{0x1001, 0x1004}));
  EXPECT_EQ(all(kStack + 0xf0), (Pcs{0x1004})) << "the walk has been there";
  EXPECT_EQ(all(kStack + 0x3f0), (Pcs{}));
}

TEST_F(RuntimeFramesList, AnObjectThatSaysItIsAnothersIsNotBelieved) {
  put(kObject + 40, tid() + 1);
  EXPECT_EQ(all(), (Pcs{}));
}

TEST_F(RuntimeFramesList, ThreadsComeAndGo) {
  frames_.ended(kObject);
  EXPECT_EQ(all(), (Pcs{}));
  frames_.was_there({kObject, tid()});
  EXPECT_EQ(all(), (Pcs{})) << "it ended after the list that has it was made";
  frames_.began({kObject, tid()});
  EXPECT_EQ(all(), (Pcs{0x1001, 0x1004}));
  for (std::uint32_t other = 1; other < 20'000; other++)
    if (other != tid()) frames_.began({0x1000, other});
  EXPECT_EQ(all(), (Pcs{0x1001, 0x1004})) << "no room for others costs none its own";
}

TEST_F(RuntimeFramesList, WhatIsDamagedEndsIt) {
  put(kStack + 0x108, kStack + 0x100);
  EXPECT_EQ(all(), (Pcs{0x1001})) << "a cycle";
  put(kStack + 0x108, kStack + 0x80);
  EXPECT_EQ(all(), (Pcs{0x1001})) << "it leads down";
  put(kStack + 0x108, kStack + 0x401);
  EXPECT_EQ(all(), (Pcs{0x1001})) << "no address of a Frame";
  put(kStack + 0x108, kStack + 0x5000);
  EXPECT_EQ(all(), (Pcs{0x1001})) << "not on the stack";
  put(kStack + 0x118, kStack + 0x5000);
  EXPECT_EQ(all(), (Pcs{})) << "a stack pointer that is none";
  put(kObject + 8, 0x666000);
  EXPECT_EQ(all(), (Pcs{})) << "nothing is there";
}

TEST(RuntimeFrames, WithoutALayoutNothingIsKnown) {
  RuntimeFrames frames(std::nullopt);
  frames.began({0x1000, 1});
  frames.ended(0x1000);
  Address place = 0;
  self_walk::OuterFrame frame;
  EXPECT_FALSE(frames.next(1, {0, 0x1000}, memory::BufferMemory(), place, frame));
}

}  // namespace
}  // namespace mixstack::agent
