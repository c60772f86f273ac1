// Threads that are held a few at a time, with what their runtime records or without.
#include <gtest/gtest.h>

#include "mixstack/session.h"
#include "support/dotnet_process.h"

namespace mixstack {
namespace {

TEST(Together, WithWhatTheRuntimeRecordsItIsOneInstantOfAllThreads) {
  const test::DotnetProcess process("deadlock");
  if (!process.ready()) GTEST_SKIP() << "scenarios are not built";
  const auto session = Session::open_process(process.pid());
  ASSERT_TRUE(session);
  DumpOptions options;
  options.stop_timeout = std::chrono::seconds(5);
  options.together = 1000;
  for (const bool with_roots : {false, true, false}) {
    options.together_with_roots = with_roots;
    const auto capture = (*session)->capture(options);
    ASSERT_TRUE(capture);
    EXPECT_EQ(capture->consistency == Consistency::not_stopped, !with_roots);
  }
  options.together = 2;
  options.together_with_roots = true;
  const auto groups = (*session)->capture(options);
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->consistency, Consistency::not_stopped) << "more threads than one group";
}

}  // namespace
}  // namespace mixstack
