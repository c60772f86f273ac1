// Debugging disturbs nothing in the host, and the targets run on when the host ends.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "process/debugger/debug_test.h"

namespace mixstack::process {
namespace {

using namespace test;

std::atomic<long> g_child_signals{0};
std::atomic<long> g_foreign_signals{0};
std::atomic<pid_t> g_own_child{0};
void on_child(int, siginfo_t* info, void*) {
  g_child_signals++;
  if (info->si_pid != g_own_child) g_foreign_signals++;
}

TEST(DebugHost, ItsChildrenAndItsHandlersAreItsOwn) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(7);
      int status = 0;
      if (::waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) s.values[0]++;
      ::raise(SIGURG);
      s.counter++;
    }
  });
  struct sigaction ours {
  }, before{};
  ours.sa_sigaction = on_child;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;  // no SA_NOCLDSTOP: stops of children would be told, too
  ::sigaction(SIGCHLD, &ours, &before);
  g_child_signals = g_foreign_signals = 0;
  {
    Loop loop;
    ASSERT_TRUE(loop->attach(process.id(), {.follow_children = true}).has_value());
    std::thread other([&] {
      for (int i = 0; i < 100; i++) {
        auto debugged = loop->find(process.id());
        if (debugged == nullptr) break;
        (void)debugged->pause();
        (void)debugged->resume();
      }
    });
    int taken = 0;
    for (int i = 0; i < 200; i++) {
      int gate[2] = {-1, -1};  // the child must not end before it is known whose end is to be told
      EXPECT_EQ(::pipe2(gate, O_CLOEXEC), 0);
      const pid_t child = ::fork();
      if (child == 0) {
        char go = 0;
        (void)!::read(gate[0], &go, 1);
        nap(300us);
        ::_exit(i % 100);
      }
      g_own_child = child;
      EXPECT_EQ(::write(gate[1], "", 1), 1);
      ::close(gate[0]);
      ::close(gate[1]);
      int status = 0;
      // As hosts do: whatever child there is.
      pid_t got = 0;
      while ((got = ::waitpid(-1, &status, WUNTRACED)) < 0 && errno == EINTR) {
      }
      EXPECT_EQ(got, child);
      EXPECT_TRUE(WIFEXITED(status));
      EXPECT_EQ(WEXITSTATUS(status), i % 100);
      taken++;
      loop.turn(0);
    }
    other.join();
    EXPECT_EQ(taken, 200);
    EXPECT_GT(loop.events().size(), 100u) << "there was much to be told meanwhile";
    int status = 0;
    EXPECT_EQ(::waitpid(-1, &status, WNOHANG), 0) << "only the test's process is left, and it runs";
  }
  EXPECT_EQ(process.shared().values[0], 0);
  EXPECT_EQ(g_child_signals, 200);
  EXPECT_EQ(g_foreign_signals, 0);
  struct sigaction now {};
  ::sigaction(SIGCHLD, &before, &now);
  EXPECT_EQ(now.sa_sigaction, on_child);
}

TEST(DebugHost, AChildOfTheHostThatIsDebuggedStillEndsForTheHost) {
  Loop loop;
  for (int i = 0; i < 20; i++) {
    const pid_t child = ::fork();
    if (child == 0) {
      nap(2ms);
      ::_exit(5);
    }
    auto debugged = loop->attach(static_cast<std::uint32_t>(child));
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 5);
    if (debugged) {
      ASSERT_TRUE(loop.until_seen(Kind::exited, static_cast<std::uint32_t>(child)));
      EXPECT_EQ((*debugged)->end()->value, 5);
    }
  }
}

TEST(DebugHost, NoSignalOrChildIsLeftBehind) {
  const auto descriptors = [] {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto threads = [] {
    const std::filesystem::directory_iterator all("/proc/self/task");
    return std::distance(begin(all), end(all));
  };
  { Loop warm; }
  const auto fds = descriptors();
  for (int i = 0; i < 50; i++) {
    Loop loop;
    ASSERT_TRUE(loop.is_open());
  }
  EXPECT_EQ(descriptors(), fds);
  EXPECT_EQ(threads(), 1);
  EXPECT_EQ(::waitpid(-1, nullptr, __WALL | WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(DebugHost, SeveralProcessesInOneLoop) {
  std::vector<std::unique_ptr<TestProcess>> processes;
  Loop loop;
  std::vector<std::shared_ptr<DebuggedProcess>> debugged;
  for (int i = 0; i < 8; i++) {
    processes.push_back(std::make_unique<TestProcess>([](Shared& s) { start_thread(counting_thread, &s); }));
    auto attached = loop->attach(processes.back()->id());
    ASSERT_TRUE(attached.has_value());
    debugged.push_back(*attached);
  }
  EXPECT_EQ(loop->processes().size(), 8u);
  for (int round = 0; round < 5; round++) {
    loop.forget();
    for (auto& p : debugged) ASSERT_TRUE(p->pause().has_value());
    ASSERT_TRUE(loop.until([&] { return loop.count(Kind::stopped) == 8; }));
    for (auto& p : processes) EXPECT_TRUE(stands(*p));
    for (auto& p : debugged) ASSERT_TRUE(p->resume().has_value());
    for (auto& p : processes) EXPECT_TRUE(counts(*p));
  }
  loop.forget();
  for (std::size_t i = 0; i < 8; i++) {
    if (i % 2 == 0)
      ::kill(processes[i]->pid(), SIGKILL);
    else
      ASSERT_TRUE(debugged[i]->detach().has_value());
  }
  ASSERT_TRUE(loop.until([&] { return loop.events().size() >= 8 + 4; }));
  EXPECT_EQ(loop.count(Kind::killed), 4u);
  EXPECT_EQ(loop.count(Kind::detached), 4u);
  EXPECT_EQ(loop.count(Kind::thread_exited), 4u);
  EXPECT_TRUE(loop->processes().empty());
}

std::string libc_folder() {
  Dl_info libc{};
  if (::dladdr(reinterpret_cast<void*>(&::getrlimit), &libc) == 0) return {};
  return std::filesystem::path(libc.dli_fname).parent_path().string();
}

TEST(DebugHost, DeathLeavesTheTargetsRunningAndUntraced) {
  const TestProcess target(
      [](Shared& s) {
        for (int i = 0; i < 3; i++) start_thread(counting_thread, &s);
      },
      3);
  for (int round = 0; round < 12; round++) {
    const TestProcess host(
        [&](Shared& s) {
          auto session = DebugSession::open();
          auto debugged = session ? (*session)->attach(target.id()) : fail(ErrorCode::internal);
          if (!debugged) ::_exit(9);
          LaunchRequest request;
          request.executable = "/bin/sleep";
          request.arguments = {"sleep", "1000"};
          // Half of them without a linker cache, so that they are stepped to where they are held
          // (debug_launch_test.cc).
          if (round % 4 >= 2) request.environment = {{"LD_LIBRARY_PATH=" + libc_folder()}};
          request.options.kill_with_us = round % 2 == 0;
          auto launched = (*session)->launch(request);
          if (!launched) ::_exit(10);
          s.values[0] = (*launched)->pid();
          s.values[1] = static_cast<long>((*session)->tracer_pid());
          if (round % 3 == 0) (void)(*debugged)->pause();  // held when we die
          s.ready++;
          for (;;) {
            if (round % 3 == 0) continue;
            (void)(*debugged)->pause();
            (void)(*debugged)->resume();
          }
        },
        1);
    ASSERT_TRUE(host.is_ready());
    const auto launched = static_cast<pid_t>(host.shared().values[0].load());
    const auto tracer = static_cast<pid_t>(host.shared().values[1].load());
    nap(std::chrono::microseconds(137 * round));
    ::kill(host.pid(), SIGKILL);
    EXPECT_TRUE(eventually([&] { return is_untraced(target.pid()); }));
    EXPECT_TRUE(counts(target)) << round;
    EXPECT_TRUE(eventually([&] { return ::kill(tracer, 0) != 0 || state_of(tracer) == 'Z'; }));
    if (round % 2 == 0) {
      EXPECT_TRUE(eventually([&] { return ::kill(launched, 0) != 0 || state_of(launched) == 'Z'; })) << "as wished";
    } else {
      EXPECT_TRUE(eventually([&] { return is_untraced(launched) && state_of(launched) == 'S'; })) << "it runs on";
      ::kill(launched, SIGKILL);
    }
  }
}

TEST(DebugHost, EveryEndOfTheHostEndsTheTracer) {
  const TestProcess target([](Shared& s) { start_thread(counting_thread, &s); });
  for (int way = 0; way < 4; way++) {
    const TestProcess host([&](Shared& s) {
      auto session = DebugSession::open();
      auto debugged = (*session)->attach(target.id(), {.hold = true});
      if (!debugged) ::_exit(9);
      s.values[1] = static_cast<long>((*session)->tracer_pid());
      s.ready++;
      if (way == 0) ::_exit(0);
      if (way == 1) ::execl("/bin/sleep", "sleep", "1000", nullptr);
      if (way == 2) ::raise(SIGTERM);
      if (way == 3) ::kill(static_cast<pid_t>((*session)->tracer_pid()), SIGKILL);
      // The tracer alone was killed: calls answer that.
      for (;;)
        if (auto r = (*debugged)->pause(); !r && r.error().code == ErrorCode::internal) s.values[2] = 1;
    });
    ASSERT_TRUE(host.is_ready());
    const auto tracer = static_cast<pid_t>(host.shared().values[1].load());
    EXPECT_TRUE(eventually([&] { return is_untraced(target.pid()); })) << way;
    EXPECT_TRUE(counts(target)) << way;
    EXPECT_TRUE(eventually([&] { return ::kill(tracer, 0) != 0 || state_of(tracer) == 'Z'; })) << way;
    if (way == 3) {
      EXPECT_TRUE(eventually([&] { return host.shared().values[2] == 1; }));
    }
  }
}

TEST(DebugHost, AForkedCopyOfTheHostHasNoSession) {
  const TestProcess process([](Shared& s) { start_thread(counting_thread, &s); });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  const pid_t copy = ::fork();
  if (copy == 0) {
    const bool refused = (*debugged)->pause().error().code == ErrorCode::invalid_argument;
    loop.close();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(copy, &status, 0), copy);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE((*debugged)->pause().has_value()) << "ours is untouched";
  EXPECT_TRUE(stands(process));
}

TEST(DebugHost, ManyThreadsMayAskAtOnce) {
  const TestProcess process([](Shared& s) {
    start_thread(counting_thread, &s);
    start_thread(waiting_thread, &s);
  });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  DebuggedProcess& p = **debugged;
  std::atomic<int> wrong{0};
  std::vector<std::thread> askers;
  for (int i = 0; i < 4; i++)
    askers.emplace_back([&, i] {
      for (int n = 0; n < 50; n++) {
        auto guard = p.stop();
        if (!guard || !p.registers(process.id())) wrong++;
        (void)p.is_running();
        (void)p.info();
        (void)loop->handle_events(false);
        if (!p.memory().read<std::uint64_t>(p.info().program_headers)) wrong++;
        if (i == 0 && (!p.pause() || !p.resume())) wrong++;
        auto target = p.open_target();
        if (!target || !(*target)->capture({})) wrong++;
      }
    });
  for (auto& t : askers) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(counts(process));
}

}  // namespace
}  // namespace mixstack::process
