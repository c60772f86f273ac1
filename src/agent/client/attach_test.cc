#include "agent/client/attach.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace mixstack::agent_client {
namespace {

TEST(AgentSettings, AreTheAgentsLines) {
  EXPECT_EQ(settings_text({.cpu_hertz = 99}), "MIXSTACK_AGENT_HZ=99\nMIXSTACK_AGENT_WALL=0\n");
  EXPECT_EQ(settings_text({.wall_hertz = 10, .wall_threads = 3, .native_only = true, .out = "/x", .json = true}),
            "MIXSTACK_AGENT_HZ=0\nMIXSTACK_AGENT_WALL=10\nMIXSTACK_AGENT_WALL_THREADS=3\nMIXSTACK_HYBRID_UNWINDING=0\n"
            "MIXSTACK_AGENT_OUT=/x\nMIXSTACK_AGENT_FORMAT=json\n");
  const std::string relative = settings_text({.out = "x.txt"});
  EXPECT_NE(relative.find("MIXSTACK_AGENT_OUT=/"), std::string::npos) << "the process has another working folder";
  EXPECT_NE(relative.find("/x.txt\nMIXSTACK_AGENT_FORMAT=collapsed\n"), std::string::npos);
}

TEST(AnsweringPlace, IsOfAProcessThatCanAnswer) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::raise(SIGSTOP);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, WUNTRACED), child);
  const auto stopped = answering_place_of(static_cast<std::uint32_t>(child));
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().error.code, ErrorCode::unsupported);
  ::kill(child, SIGCONT);
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  const auto zombie = answering_place_of(static_cast<std::uint32_t>(child));
  ASSERT_FALSE(zombie);
  EXPECT_EQ(zombie.error().error.code, ErrorCode::no_such_process);
  ::waitpid(child, &status, 0);
  EXPECT_FALSE(answering_place_of(static_cast<std::uint32_t>(child)));
}

}  // namespace
}  // namespace mixstack::agent_client
