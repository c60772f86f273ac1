#include "process/perf/exec_watch.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "process/perf/perf_refusal.h"
#include "support/host_cpu.h"

namespace mixstack::perf {
namespace {

using Kind = PerfNotice::Kind;

PerfNotice notice(Kind kind, ThreadId pid, std::string_view text = {}, ThreadId parent = 0) {
  PerfNotice n;
  n.kind = kind;
  n.pid = n.tid = pid;
  n.parent = n.parent_pid = parent;
  n.text = text;
  return n;
}

TEST(ExecCounter, ProgramsAreNamedByTheFirstFileThatIsMapped) {
  ExecCounter counter(10);
  for (const ThreadId child : {20u, 21u}) {
    counter.notice(notice(Kind::thread_began, child, {}, 10));
    counter.notice(notice(Kind::executed, child, "identify"));
    counter.notice(notice(Kind::mapped, child, "/usr/bin/identify"));
    counter.notice(notice(Kind::mapped, child, "/usr/lib/libc.so.6"));
    counter.notice(notice(Kind::thread_ended, child));
  }
  counter.notice(notice(Kind::thread_began, 30, {}, 20));  // a grandchild
  counter.notice(notice(Kind::executed, 30, "short"));
  counter.notice(notice(Kind::thread_ended, 30));
  counter.notice(notice(Kind::executed, 31, "waits"));
  PerfNotice thread = notice(Kind::thread_began, 10, {}, 10);
  counter.notice(thread);
  EXPECT_EQ(counter.children(), 2u);
  const auto programs = counter.programs();
  ASSERT_EQ(programs.size(), 3u);
  EXPECT_EQ(programs[0], (StartedProgram{"/usr/bin/identify", 2}));
  EXPECT_EQ(programs[1], (StartedProgram{"short", 1}));
  EXPECT_EQ(programs[2], (StartedProgram{"waits", 1}));
}

TEST(ExecCounter, ManyProgramsAreBounded) {
  ExecCounter counter(10);
  for (ThreadId i = 0; i < 10'000; i++) counter.notice(notice(Kind::executed, 100 + i, "p" + std::to_string(i)));
  EXPECT_LE(counter.programs().size(), 64u);
}

TEST(ExecWatch, SeesEachChild) {
  constexpr int kChildren = 20;
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    if (::read(go[0], &byte, 1) != 1) ::_exit(1);
    for (int i = 0; i < kChildren; i++) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::execl("/bin/true", "true", nullptr);
        ::_exit(1);
      }
      ::waitpid(child, nullptr, 0);
    }
    ::_exit(0);
  }
  auto watch = ExecWatch::open(static_cast<std::uint32_t>(parent), mixstack::test::kHostCpu);
  (void)!::write(go[1], "x", 1);
  while (::waitpid(parent, nullptr, WNOHANG) == 0) {
    ::usleep(1000);
    if (watch) watch->drain();
  }
  ::close(go[0]);
  ::close(go[1]);
  if (!watch) GTEST_SKIP() << explain_perf_refusal(watch.error());
  watch->stop();
  EXPECT_EQ(watch->counter().children(), static_cast<std::uint64_t>(kChildren));
  const auto programs = watch->counter().programs();
  ASSERT_EQ(programs.size(), 1u);
  EXPECT_TRUE(programs[0].path.starts_with("/")) << programs[0].path;
  EXPECT_EQ(programs[0].count, static_cast<std::uint64_t>(kChildren));
}

}  // namespace
}  // namespace mixstack::perf
