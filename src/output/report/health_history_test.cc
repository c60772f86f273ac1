#include "output/report/health_history.h"

#include <gtest/gtest.h>

namespace mixstack::report {
namespace {

TEST(HealthHistory, AChangeIsToldAsLongAsItLasts) {
  HealthHistory history;
  Health health;
  health.collections = 1.0;
  health.exceptions = 1.0;
  EXPECT_TRUE(history.add(health, "14:02:01").empty());
  health.exceptions = 4.0;  // few
  EXPECT_TRUE(history.add(health, "14:02:06").empty());
  health.collections = 36.0;
  const std::vector<std::string> rose{"since 14:02:11 collections rose from 1.0/s to 36/s"};
  EXPECT_EQ(history.add(health, "14:02:11"), rose);
  EXPECT_EQ(history.add(health, "14:02:16"), rose);
  health.collections = 1.0;
  EXPECT_EQ(history.add(health, "14:02:21"),
            std::vector<std::string>{"since 14:02:21 collections fell from 36/s to 1.0/s"});
}

TEST(HealthHistory, WhatIsNotKnownChangesNothing) {
  HealthHistory history;
  EXPECT_TRUE(history.add({}, "1").empty());
  EXPECT_TRUE(history.add({}, "2").empty());
}

}  // namespace
}  // namespace mixstack::report
