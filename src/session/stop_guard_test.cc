#include "mixstack/stop_guard.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>

#include "mixstack/session.h"

namespace mixstack {
namespace {

/// A program that waits, started afresh: a forked copy of a test would carry the test's own state.
class Sleeper {
 public:
  Sleeper() {
    auto session = Session::launch({{"sleep", "60"}, {}});
    if (session) pid_ = static_cast<pid_t>((*session)->target().info().pid);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
  [[nodiscard]] std::string status(const std::string& key) const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with(key + ":")) return line.substr(key.size() + 2);
    return {};
  }

 private:
  pid_t pid_ = -1;
};

TEST(StopGuard, HoldsForItsScopeAndLetsGo) {
  const Sleeper sleeper;
  {
    auto guard = StopGuard::stop(sleeper.pid());
    ASSERT_TRUE(guard) << static_cast<int>(guard.error().code) << " " << guard.error().os_error;
    EXPECT_TRUE(guard->is_held());
    EXPECT_EQ(sleeper.status("State").front(), 't');
    auto target = guard->target();
    ASSERT_TRUE(target);
    auto session = Session::open(std::move(*target));
    ASSERT_TRUE(session);
    const auto dump = (*session)->dump({});
    ASSERT_TRUE(dump);
    ASSERT_EQ(dump->threads.size(), 1u);
    EXPECT_EQ(dump->threads.front().trace.stop, StopReason::end_of_stack);
    EXPECT_EQ(sleeper.status("State").front(), 't');
  }
  for (int i = 0; i < 200 && sleeper.status("TracerPid") != "0"; i++) ::usleep(5000);
  EXPECT_EQ(sleeper.status("TracerPid"), "0");
  EXPECT_NE(sleeper.status("State").front(), 't');
}

TEST(StopGuard, ReleasesOnceAndMoves) {
  const Sleeper sleeper;
  auto guard = StopGuard::stop(sleeper.pid());
  ASSERT_TRUE(guard);
  StopGuard other(std::move(*guard));
  EXPECT_TRUE(other.is_held());
  other.release();
  other.release();
  EXPECT_FALSE(other.is_held());
  EXPECT_EQ(other.target().error().code, ErrorCode::not_found);
}

TEST(StopGuard, SaysWhyNot) { EXPECT_EQ(StopGuard::stop(0x7ffffff0).error().code, ErrorCode::no_such_process); }

}  // namespace
}  // namespace mixstack
