#include "dotnet/waits/mutex_owner.h"

#include <gtest/gtest.h>

#include "support/sparse_memory.h"

namespace mixstack::dotnet::objects {
namespace {

constexpr std::uint64_t kWaiter = 4711, kHolder = 4712;
constexpr Address kWord = 0x1028, kInfo = 0x1040, kThread = 0x2000, kNode = 0x3000, kState = 0x4000, kOwner = 0x5000;
constexpr Address kOther = 0x6000;

/// As the platform layer of 10.0.12 has them on x64.
class MutexOwnerTest : public ::testing::Test {
 protected:
  MutexOwnerTest() {
    for (const Address at : {kWord, kThread, kNode, kState, kOwner, kOther}) memory_.map(at, 0x100);
    memory_.put_u32(kInfo + 4, 1);
    memory_.put_u64(kInfo + 8, kThread);
    memory_.put_u64(kInfo + 16, kNode);
    memory_.put_u64(kThread + 80, kWaiter);
    memory_.put_u32(kNode + 16, kWaiter);
    memory_.put_u64(kNode + 40, kState);
    memory_.put_u64(kNode + 48, kInfo);
    memory_.put_u64(kState, kNode);
    memory_.put_u64(kState + 8, kNode);
    memory_.put_u32(kState + 16, 1);
    memory_.put_u32(kState + 32, 1);
    memory_.put_u64(kState + 40, kHolder);
    memory_.put_u64(kState + 48, kOwner);
    memory_.put_u64(kOwner + 80, kHolder);
  }
  [[nodiscard]] std::uint64_t owner(Address word = kWord) const { return mutex_owner(memory_, word, kWaiter); }

  test::SparseMemory memory_;
};

TEST_F(MutexOwnerTest, IsFoundBehindTheConditionVariable) {
  EXPECT_EQ(owner(), kHolder);
  EXPECT_EQ(owner(kWord + 4), kHolder) << "its other group of waiters";
  EXPECT_EQ(owner(kWord - 8), kHolder) << "of a C library with a smaller one";
  EXPECT_EQ(owner(0x9000), 0u);
  EXPECT_EQ(owner(kWord + 1), 0u);
  EXPECT_EQ(owner(0), 0u);
}

TEST_F(MutexOwnerTest, IsFoundThroughTheStackOnMusl) {
  constexpr Address kStackWord = 0x7004;
  memory_.map(0x7000, 0x800);
  memory_.put_u64(0x7010, 3);
  memory_.put_u64(0x7018, kNode);
  EXPECT_EQ(owner(kStackWord), 0u);
  memory_.put_u64(0x7040, kWord - 0x28);  // its mutex
  EXPECT_EQ(owner(kStackWord), kHolder);
  memory_.put_u32(kNode + 16, 77);
  EXPECT_EQ(owner(kStackWord), 0u) << "another thread's node";
}

TEST_F(MutexOwnerTest, IsFoundAmongOtherWaiters) {
  memory_.put_u64(kNode, kOther);  // the next one
  memory_.put_u64(kOther + 8, kNode);
  memory_.put_u64(kState + 8, kOther);
  EXPECT_EQ(owner(), kHolder);
  memory_.put_u64(kOther + 8, 0);
  EXPECT_EQ(owner(), 0u) << "the list does not lead back";
}

TEST_F(MutexOwnerTest, IsNotBelievedWhereOneStepDoesNotLeadBack) {
  const struct {
    Address at;
    std::uint64_t value;
    const char* what;
  } wrong[] = {{kInfo + 16, kOther, "another node"},
               {kThread + 80, 77, "another thread's"},
               {kNode + 16, 77, "another thread's node"},
               {kNode + 48, kOther, "a node of another wait"},
               {kState, kOther, "a list without it"},
               {kState + 8, 0, "a list that has no end"},
               {kState + 16, 0, "nobody waits"},
               {kState + 32, 0, "an object without an owner"},
               {kState + 48, 0, "an owner that has ended"},
               {kOwner + 80, 77, "another owner"},
               {kState + 40, kWaiter, "its own"},
               {kNode + 40, 0x9000, "not readable"}};
  for (const auto& w : wrong) {
    const auto before = memory_.read<std::uint64_t>(w.at).value_or(0);
    memory_.put_u64(w.at, w.value);
    EXPECT_EQ(owner(), 0u) << w.what;
    memory_.put_u64(w.at, before);
  }
  EXPECT_EQ(owner(), kHolder);
}

TEST_F(MutexOwnerTest, IsFoundOnArm64) {
  memory_.put_u64(kThread + 80, 0);
  memory_.put_u64(kThread + 88, kWaiter);
  EXPECT_EQ(owner(), 0u) << "both threads have their ids at one place";
  memory_.put_u64(kOwner + 88, kHolder);
  EXPECT_EQ(owner(), kHolder);
}

TEST_F(MutexOwnerTest, OfSeveralObjectsNothingIsSaid) {
  memory_.put_u32(kInfo + 4, 2);
  EXPECT_EQ(owner(), 0u);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
