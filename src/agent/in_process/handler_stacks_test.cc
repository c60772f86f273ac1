#include "agent/in_process/handler_stacks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace mixstack::agent {
namespace {

TEST(HandlerStacks, EachIsTakenOnce) {
  HandlerStacks stacks;
  ASSERT_TRUE(stacks.is_usable());
  std::set<void*> taken;
  for (std::size_t i = 0; i < HandlerStacks::kCount; i++) {
    void* end = stacks.take();
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(end) % 16, 0u);
    EXPECT_TRUE(taken.insert(end).second);
    std::memset(static_cast<std::byte*>(end) - HandlerStacks::kSize + 4096, 1, HandlerStacks::kSize - 4096);
  }
  EXPECT_EQ(stacks.take(), nullptr) << "there are no more";
  stacks.give_back(*taken.rbegin());
  EXPECT_EQ(stacks.take(), *taken.rbegin());
}

TEST(HandlerStacks, NoTwoThreadsHaveTheSame) {
  HandlerStacks stacks;
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20'000; i++) {
        auto* end = static_cast<volatile int*>(stacks.take());
        if (end == nullptr) continue;
        end[-1] = t;
        std::atomic_signal_fence(std::memory_order_seq_cst);
        if (end[-1] != t) wrong++;
        stacks.give_back(const_cast<int*>(end));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace mixstack::agent
