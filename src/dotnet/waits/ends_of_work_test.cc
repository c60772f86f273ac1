#include "dotnet/waits/ends_of_work.h"

#include <gtest/gtest.h>

#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

constexpr Address kStack = 0x7d0000000000, kOtherStack = kStack + 0x1000;
constexpr std::uint64_t kFirst = 5, kSecond = 9;

class EndsOfWorkTest : public ::testing::Test {
 protected:
  EndsOfWorkTest() {
    heap_.memory.map(kStack, 0x2000);
    first_.os_id = kFirst;
    first_.stack = {kStack, kStack + 0x1000};
    second_.os_id = kSecond;
    second_.stack = {kOtherStack, kOtherStack + 0x1000};
  }

  static std::vector<WaitFrame> frames(Address stack, std::string_view method) {
    return {{stack + 0x100, stack + 0x140, true, "Shop.Program.Tick()"},
            {stack + 0x140, stack + 0x180, true, method},
            {stack + 0x180, stack + 0x1c0, true, "System.Threading.ThreadPoolWorkQueue.Dispatch()"}};
  }
  /// Both threads have called the method of its name.
  EndsOfWork ends(std::string_view method) {
    const auto of_first = frames(kStack, method), of_second = frames(kOtherStack, method);
    const std::vector<WaitingThread> threads{{&first_, nullptr, of_first}, {&second_, nullptr, of_second}};
    return ends_of_work(objects_, threads);
  }
  Address timer(Address told, std::uint32_t callbacks) {
    const Address at = heap_.object(heap_.timer, 16);
    heap_.memory.put_u64(at + FakeHeap::kNotified, told);
    heap_.memory.put_u32(at + FakeHeap::kCallbacks, callbacks);
    return at;
  }

  FakeHeap heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes types_{heap_.runtime(), names_};
  ManagedObjects objects_{types_};
  ManagedThread first_, second_;
};

constexpr std::string_view kCallsBack = "System.Threading.TimerQueueTimer.CallCallback(bool)";
constexpr std::string_view kWorks = "System.Threading.Tasks.Parallel.ForEachAsync.lambda(object)";

TEST_F(EndsOfWorkTest, WhoRunsATimersCallbackEndsTheWaitForIt) {
  const Address told = heap_.promise();
  heap_.memory.put_u64(kStack + 0x148, timer(told, 1));
  EXPECT_EQ(ends(kCallsBack), (EndsOfWork{{told, {kFirst}}}));
  EXPECT_TRUE(ends("Shop.Program.Other()").empty()) << "no frame of a timer";
}

TEST_F(EndsOfWorkTest, OfMoreStacksThanCallbacksSomeAreOfBefore) {
  const Address told = heap_.promise(), one = timer(told, 1);
  heap_.memory.put_u64(kStack + 0x148, one);
  heap_.memory.put_u64(kOtherStack + 0x148, one);
  EXPECT_TRUE(ends(kCallsBack).empty());
  heap_.memory.put_u32(one + FakeHeap::kCallbacks, 2);
  EXPECT_EQ(ends(kCallsBack), (EndsOfWork{{told, {kFirst, kSecond}}}));
  heap_.memory.put_u32(one + FakeHeap::kCallbacks, 0);
  EXPECT_TRUE(ends(kCallsBack).empty()) << "none runs";
}

TEST_F(EndsOfWorkTest, WhatTwoTimersSetIsNeithersToEnd) {
  const Address told = heap_.promise();
  heap_.memory.put_u64(kStack + 0x148, timer(told, 1));
  heap_.memory.put_u64(kOtherStack + 0x148, timer(told, 1));
  EXPECT_TRUE(ends(kCallsBack).empty());
}

TEST_F(EndsOfWorkTest, ATimerThatNobodyIsToBeToldOf) {
  heap_.memory.put_u64(kStack + 0x148, timer(0, 1));
  EXPECT_TRUE(ends(kCallsBack).empty());
}

TEST_F(EndsOfWorkTest, WorkersOfACallEndItsTask) {
  const Address task = heap_.promise(), shared = heap_.object(heap_.for_each, 8);
  heap_.memory.put_u64(shared + FakeHeap::kSourceTask, task);
  heap_.memory.put_u64(kStack + 0x148, shared);
  heap_.memory.put_u64(kOtherStack + 0x150, shared);
  EXPECT_EQ(ends(kWorks), (EndsOfWork{{task, {kFirst, kSecond}}}));
  const Address other = heap_.object(heap_.for_each, 8);
  heap_.memory.put_u64(other + FakeHeap::kSourceTask, heap_.promise());
  heap_.memory.put_u64(kStack + 0x158, other);
  EXPECT_EQ(ends(kWorks), (EndsOfWork{{task, {kSecond}}})) << "a thread works for one call: which, nothing tells";
  heap_.memory.put_u32(task + FakeHeap::kFlags, FakeHeap::kRanToCompletion);
  EXPECT_TRUE(ends(kWorks).empty()) << "it has ended";
}

}  // namespace
}  // namespace mixstack::dotnet::objects
