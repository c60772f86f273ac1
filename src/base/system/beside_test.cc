#include "base/system/beside.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

namespace mixstack::base {
namespace {

TEST(Beside, OneThingAfterTheOther) {
  Beside beside;
  std::vector<int> order;  // used by the one thread until it is waited for
  std::vector<std::future<std::thread::id>> all;
  for (int i = 0; i < 100; i++)
    all.push_back(beside.run([&order, i] {
      order.push_back(i);
      return std::this_thread::get_id();
    }));
  const auto first = all.front().get();
  EXPECT_NE(first, std::this_thread::get_id());
  for (std::size_t i = 1; i < all.size(); i++) EXPECT_EQ(all[i].get(), first);
  for (int i = 0; i < 100; i++) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(Beside, WorkThatMayOnlyBeMoved) {
  Beside beside;
  auto answer = beside.run([value = std::make_unique<int>(7)]() mutable { return std::move(value); });
  EXPECT_EQ(*answer.get(), 7);
}

TEST(Beside, WaitsForWhatNobodyAskedFor) {
  std::atomic<int> done = 0;
  {
    Beside beside;
    for (int i = 0; i < 10; i++) (void)beside.run([&] { done++; });
  }
  EXPECT_EQ(done, 10);
  const Beside idle;
}

}  // namespace
}  // namespace mixstack::base
