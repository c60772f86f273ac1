#include "features/why/child_causes.h"

#include <gtest/gtest.h>

#include "features/why/kernel_test.h"

namespace mixstack::why {
namespace {

using test::fact;
using test::milliseconds;
using test::seconds;
using test::TwoLooks;

TEST(ChildCauses, ManyChildrenOfOneProgram) {
  TwoLooks looks;
  *looks.after.kernel.children += milliseconds(800);
  *looks.after.kernel.children_faults += 20'000;
  looks.evidence.starts = {seconds(1), 90, {{"/usr/bin/identify", 90}}};
  const auto cause = children_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(cause->what, "90/s, /usr/bin/identify all of them, 0.4 processors");
  EXPECT_EQ(cause->place_of, "started");
  EXPECT_DOUBLE_EQ(fact(*cause, "page_faults_per_second"), 10'000);
  looks.evidence.starts = {seconds(1), 5, {{"/bin/sh", 5}, {"/usr/bin/identify", 5}}};
  EXPECT_EQ(children_cause(looks.before, looks.after, looks.evidence)->what,
            "5.0/s, /bin/sh 50 %, /usr/bin/identify 50 %, 0.4 processors");
  looks.evidence.starts->programs.clear();
  EXPECT_NE(children_cause(looks.before, looks.after, looks.evidence)->what.find("none of them"), std::string::npos);
}

TEST(ChildCauses, WhatTheyCostIsToldWhereTheyAreNotSeen) {
  TwoLooks looks;
  *looks.after.kernel.children += milliseconds(800);
  const auto cause = children_cause(looks.before, looks.after, looks.evidence);
  ASSERT_TRUE(cause);
  EXPECT_EQ(fact(*cause, "per_second"), -1);
}

TEST(ChildCauses, AChildNowAndThenIsHealthy) {
  TwoLooks looks;
  *looks.after.kernel.children += milliseconds(20);
  looks.evidence.starts = {seconds(1), 1, {{"/bin/sh", 1}}};
  EXPECT_FALSE(children_cause(looks.before, looks.after, looks.evidence));
  looks.evidence.starts = {seconds(1), 4, {{"/bin/true", 4}}};
  EXPECT_FALSE(children_cause(looks.before, looks.after, looks.evidence)) << "they cost nothing";
  const TwoLooks healthy;
  EXPECT_FALSE(children_cause(healthy.before, healthy.after, healthy.evidence));
}

}  // namespace
}  // namespace mixstack::why
