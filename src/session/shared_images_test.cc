#include "mixstack/shared_images.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <string>

#include "process/live/live_target.h"
#include "process/live/test_process.h"
#include "session/process_session.h"
#include "support/patient_walker.h"

namespace mixstack {
namespace {

/// A program of the machine that sleeps, with its libraries loaded; ends with this.
class Sleeper {
 public:
  Sleeper() {
    auto session = Session::launch({{"sleep", "60"}, {}});
    if (session) pid_ = (*session)->target().info().pid;
    EXPECT_TRUE(process::test::eventually([this] { return process::test::state_of(static_cast<pid_t>(pid_)) == 'S'; }));
  }
  ~Sleeper() {
    if (pid_ == 0) return;
    ::kill(static_cast<pid_t>(pid_), SIGKILL);
    (void)::waitpid(static_cast<pid_t>(pid_), nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] std::uint32_t pid() const { return pid_; }

 private:
  std::uint32_t pid_ = 0;
};

std::string names_of(Session& session) {
  const auto dump = session.dump(test::patient());
  std::string text;
  if (!dump) return text;
  for (const ThreadDump& thread : dump->threads) {
    for (const std::uint32_t symbol : thread.symbols) text += dump->symbols[symbol].name + "\n";
    text += to_string(thread.trace.stop);
  }
  return text;
}

TEST(SharedImages, SessionsSayWhatSessionsOfTheirOwnSay) {
  const Sleeper first, second;
  SharedImages images;
  for (const std::uint32_t pid : {first.pid(), second.pid()}) {
    auto own = Session::open_process(pid), shared = images.open_process(pid);
    ASSERT_TRUE(own && shared);
    const std::string names = names_of(*shared.value());
    EXPECT_FALSE(names.empty());
    EXPECT_EQ(names, names_of(*own.value()));
  }
}

TEST(SharedImages, OutliveTheirOwnerInItsSessions) {
  const Sleeper program;
  Result<std::unique_ptr<Session>> session;
  {
    SharedImages images;
    session = images.open_process(program.pid());
    ASSERT_TRUE(session);
  }
  EXPECT_FALSE(names_of(*session.value()).empty());
  EXPECT_EQ(SharedImages().open(nullptr).error().code, ErrorCode::invalid_argument);
}

/// The libc of a process, as a session that was opened with these facts holds it.
std::shared_ptr<const images::ElfImage> libc_of(std::uint32_t pid, const session::ImageFacts& facts) {
  auto target = process::open_live(pid);
  if (!target) return nullptr;
  const auto session =
      session::ProcessSession::open(std::move(*target), nullptr, NativeLines::none, facts).value_or(nullptr);
  if (!session) return nullptr;
  const images::ModuleMap& modules = session->facts()->modules();
  for (ModuleIndex i = 0; i < modules.modules().size(); i++)
    if (modules.modules()[i].path.find("libc.so") != std::string::npos ||
        modules.modules()[i].path.find("libc-") != std::string::npos)
      return modules.image(i).value_or(nullptr);
  return nullptr;
}

TEST(SharedImages, OneLibcOfTwoProcesses) {
  const Sleeper first, second;
  const session::ImageFacts shared;
  const auto one = libc_of(first.pid(), shared), two = libc_of(second.pid(), shared), own = libc_of(second.pid(), {});
  ASSERT_NE(one, nullptr);
  ASSERT_EQ(one, two);
  EXPECT_NE(one, own);
  EXPECT_EQ(shared.rules->of(one), shared.rules->of(two)) << "and one table of unwind rules";
}

TEST(SharedImages, ASymbolTableIsOfAnImageAtAPath) {
  const Sleeper program;
  const session::ImageFacts facts;
  const auto libc = libc_of(program.pid(), facts);
  ASSERT_NE(libc, nullptr);
  const auto none = [](const std::string&) -> Result<std::shared_ptr<const FileBytes>> {
    return fail(ErrorCode::not_found);
  };
  const auto at = [&](const std::string& path) { return facts.symbols->get(libc, path, none); };
  EXPECT_EQ(at("/a/libc.so.6"), at("/a/libc.so.6"));
  EXPECT_NE(at("/a/libc.so.6"), at("/b/libc.so.6")) << "debug files are also looked for beside the image";
}

}  // namespace
}  // namespace mixstack
