#include "base/system/shared_work.h"

#include <gtest/gtest.h>

#include <vector>

namespace mixstack::base {
namespace {

TEST(SharedWork, EachIsDoneOnce) {
  for (const std::size_t count : {0u, 1u, 7u, 63u, 64u, 65u, 1000u}) {
    std::vector<std::atomic<int>> done(count);
    for_each_of_many(count, [&done](std::size_t i) { done[i]++; });
    for (const auto& times : done) EXPECT_EQ(times, 1) << count;
  }
}

}  // namespace
}  // namespace mixstack::base
