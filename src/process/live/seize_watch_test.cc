#include "process/kernel/seize_watch.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "process/live/test_process.h"

namespace mixstack::process {
namespace {

using test::Shared;
using test::TestProcess;

/// As long as thousands of threads take: longer than from one tick of the timer to the next.
void collect_slowly() {
  timespec begin{}, now{};
  ::clock_gettime(CLOCK_MONOTONIC, &begin);
  do ::clock_gettime(CLOCK_MONOTONIC, &now);
  while ((now.tv_sec - begin.tv_sec) * 1'000'000'000 + now.tv_nsec - begin.tv_nsec < 10'000'000);
}

void* wait_for_ever(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}

/// In a process of its own, as the watch wants it: the number of threads it could not have.
int seize_all(const std::vector<ThreadId>& tids) {
  static SeizeWatch watch(collect_slowly);
  sigset_t signal;
  sigemptyset(&signal);
  sigaddset(&signal, SIGRTMAX);
  ::sigprocmask(SIG_BLOCK, &signal, nullptr);
  if (!watch.set_up()) return 100;
  ::usleep(10'000);  // the first tick is due when the first thread is seized
  return static_cast<int>(
      std::count_if(tids.begin(), tids.end(), [](ThreadId tid) { return watch.seize(tid, 0) != 0; }));
}

TEST(SeizeWatch, GetsOnWhileCollectingIsSlow) {
  const TestProcess process(
      [](Shared& s) {
        for (int i = 0; i < 20; i++) test::start_thread(wait_for_ever, &s);
      },
      20);
  ASSERT_TRUE(process.is_ready());
  std::vector<ThreadId> tids;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(process.pid()) + "/task"))
    tids.push_back(static_cast<ThreadId>(std::stoul(entry.path().filename())));
  ASSERT_EQ(tids.size(), 21u);
  const pid_t tracer = ::fork();
  if (tracer == 0) ::_exit(seize_all(tids));
  int status = 0;
  bool has_ended = false;
  for (int i = 0; i < 1500 && !has_ended; i++) {
    has_ended = ::waitpid(tracer, &status, WNOHANG) == tracer;
    ::usleep(10'000);
  }
  if (!has_ended) ::kill(tracer, SIGKILL);
  ASSERT_TRUE(has_ended) << "the handler left no time for the seize";
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace mixstack::process
