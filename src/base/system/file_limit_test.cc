#include "base/system/file_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace mixstack::base {
namespace {

/// Another soft limit, as long as it lives.
class Limit {
 public:
  explicit Limit(rlim_t most) {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit now{most, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~Limit() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  [[nodiscard]] rlim_t hard() const { return before_.rlim_max; }

 private:
  rlimit before_{};
};

TEST(FileLimit, WhatIsSaidToBeEnoughIs) {
  for (const std::uint64_t files : {0u, 1u, 7u, 100u, 300u}) {
    const Limit limit(limit_for_thread_files(files));
    EXPECT_GE(end_of_thread_files(), files + 48) << files;
  }
}

TEST(FileLimit, SomeAreLeftToOthers) {
  for (const rlim_t most : {0u, 8u, 32u, 64u, 256u, 400u}) {
    const Limit limit(most);
    EXPECT_LE(end_of_thread_files() + std::min<rlim_t>(most, 16), most) << most;
  }
}

TEST(FileLimit, IsRaisedAsFarAsWeMay) {
  const Limit limit(64);
  raise_file_limit();
  rlimit now{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
  EXPECT_EQ(now.rlim_cur, limit.hard());
}

}  // namespace
}  // namespace mixstack::base
