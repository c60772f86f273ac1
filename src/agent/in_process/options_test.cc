#include "agent/in_process/options.h"

#include <gtest/gtest.h>

namespace mixstack::agent {
namespace {

TEST(AgentOptions, LinesOfNamesAndValues) {
  const auto o = AgentOptions::of_lines(
      "MIXSTACK_AGENT_HZ=99\nMIXSTACK_AGENT_WALL=20\nMIXSTACK_AGENT_OUT=/tmp/a=b\nMIXSTACK_AGENT_FORMAT=json\n"
      "MIXSTACK_HYBRID_UNWINDING=0\nMIXSTACK_DEBUG=1");
  EXPECT_EQ(o.cpu_hertz, 99u);
  EXPECT_EQ(o.wall_hertz, 20u);
  EXPECT_EQ(o.out, "/tmp/a=b");
  EXPECT_EQ(o.format, OutFormat::json);
  EXPECT_FALSE(o.walks_managed);
  EXPECT_TRUE(o.explains);
  EXPECT_TRUE(o.samples());
}

TEST(AgentOptions, WhatIsOutOfBoundsIsBounded) {
  const auto o = AgentOptions::of_lines(
      "MIXSTACK_AGENT_HZ=99999999999999999999999\nMIXSTACK_AGENT_WALL=1000000\nMIXSTACK_AGENT_WALL_THREADS=0\n");
  EXPECT_EQ(o.cpu_hertz, AgentOptions::kMostHertz);
  EXPECT_EQ(o.wall_hertz, AgentOptions::kMostWallHertz);
  EXPECT_EQ(o.wall_threads, 1u);
}

TEST(AgentOptions, WhatIsNotUnderstoodIsNothing) {
  for (const char* text : {"", "\n\n", "=", "MIXSTACK_AGENT_HZ", "MIXSTACK_AGENT_HZ=", "MIXSTACK_AGENT_HZ=-5", "x=y\n"})
    EXPECT_FALSE(AgentOptions::of_lines(text).samples()) << text;
}

}  // namespace
}  // namespace mixstack::agent
