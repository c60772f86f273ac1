#include "base/words/words.h"

#include <gtest/gtest.h>

#include <set>

#include "base/system/proc_mount.h"

namespace mixstack::words {
namespace {

TEST(Words, EveryErrorCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (unsigned code = 0; code <= static_cast<unsigned>(ErrorCode::cancelled); code++) {
    const auto name = error_name(static_cast<ErrorCode>(code));
    EXPECT_NE(name, "unknown") << code;
    EXPECT_TRUE(names.insert(name).second) << name;
  }
}

TEST(Words, ErrorsSayTheirValueAndTheSystemsWords) {
  EXPECT_EQ(error_words({ErrorCode::unreadable_memory, 0, 0x7f00}), "memory that cannot be read (0x7f00)");
  EXPECT_EQ(error_words({ErrorCode::io_error, 2, 0}), "input or output failed: No such file or directory");
  EXPECT_EQ(error_words({ErrorCode::contract_unsupported, 0, 9}),
            "a contract version mixstack does not know (version 9)");
}

TEST(Words, AProcOfAnotherNamespaceIsSaid) {
  EXPECT_NE(error_words(base::other_pid_namespace_error()).find("another pid namespace"), std::string::npos);
}

TEST(Words, EveryStopReasonTrustAndStepperHasWords) {
  for (unsigned i = 0; i <= static_cast<unsigned>(kLastStopReason); i++)
    EXPECT_NE(stop_words(static_cast<StopReason>(i)), "unknown reason");
  for (unsigned i = 0; i <= static_cast<unsigned>(Trust::inferred); i++)
    EXPECT_NE(trust_words(static_cast<Trust>(i)), "unknown trust");
  for (unsigned i = 0; i <= static_cast<unsigned>(StepperId::user); i++)
    EXPECT_NE(stepper_words(static_cast<StepperId>(i)), "an unknown stepper");
}

}  // namespace
}  // namespace mixstack::words
