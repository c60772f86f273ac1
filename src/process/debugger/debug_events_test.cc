// Events of a debugger: threads, children, programs, libraries, signals.
#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>

#include "process/debugger/debug_test.h"

namespace mixstack::process {
namespace {

using namespace test;

TEST(DebugEvents, EveryThreadIsBornAndDiesOnce) {
  const TestProcess process([](Shared& s) { start_thread(spawner, &s); });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  process.shared().go = 1;
  const auto end = std::chrono::steady_clock::now() + 20s;
  while (process.shared().counter < 2000 / slowness() && std::chrono::steady_clock::now() < end) {
    loop.turn(1);
    ASSERT_TRUE((*debugged)->pause().has_value());
    const auto threads = (*debugged)->threads();
    ASSERT_TRUE(threads.has_value());
    // The kernel's list is ours.
    auto proc = ProcDir::open(process.id());
    std::set<ThreadId> ours(threads->begin(), threads->end());
    const auto listed = proc->tasks();
    for (const ThreadId tid : *listed)
      EXPECT_TRUE(ours.contains(tid) || state_of(process.pid(), static_cast<pid_t>(tid)) == 'X') << tid;
    for (const ThreadId tid : *threads) EXPECT_TRUE((*debugged)->registers(tid).has_value());
    ASSERT_TRUE((*debugged)->resume().has_value());
  }
  process.shared().go = 0;
  EXPECT_GT(process.shared().counter, 100 / slowness());
  EXPECT_TRUE(eventually([&] { return (*debugged)->threads()->size() == 2; }));
  loop.turn();
  EXPECT_EQ(loop.count(Kind::thread_created), static_cast<std::size_t>(process.shared().counter));
  EXPECT_EQ(loop.count(Kind::thread_exited), loop.count(Kind::thread_created));
  std::multiset<ThreadId> alive;
  for (const auto& e : loop.events()) {
    if (e.kind == Kind::thread_created) alive.insert(e.tid);
    if (e.kind == Kind::thread_exited) {
      ASSERT_EQ(alive.erase(e.tid), 1u);
    }
  }
  EXPECT_EQ(loop->lost_events(), 0u);
}

void fork_on_demand(Shared& s) {
  s.ready++;
  for (;;) {
    while (s.go == 0) nap(1ms);
    s.go--;
    const pid_t child = ::fork();
    if (child == 0) {
      s.values[0]++;
      while (s.values[1] == 0) nap(1ms);
      ::_exit(7);
    }
    s.values[3] = child;
    int status = 0;
    if (::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7) s.values[2]++;
    s.counter++;
  }
}

TEST(DebugEvents, ChildrenAreLeftAloneOrFollowed) {
  const TestProcess process(fork_on_demand);
  {
    Loop loop;
    auto debugged = loop->attach(process.id());
    ASSERT_TRUE(debugged.has_value());
    process.shared().go = 1;
    ASSERT_TRUE(loop.until_seen(Kind::forked));
    const DebugEvent& e = *loop.first(Kind::forked);
    EXPECT_EQ(e.child, nullptr);
    EXPECT_EQ(e.tid, process.id());
    EXPECT_EQ(e.child_kind, ChildKind::fork);
    EXPECT_TRUE(eventually([&] { return process.shared().values[0] == 1; })) << "it runs";
    EXPECT_TRUE(eventually([&] { return e.child_pid == static_cast<std::uint32_t>(process.shared().values[3]); }));
    EXPECT_TRUE(is_untraced(static_cast<pid_t>(e.child_pid)));
    process.shared().values[1] = 1;
    EXPECT_TRUE(eventually([&] { return process.shared().counter == 1; }));
  }
  process.shared().values[1] = 0;
  {
    Loop loop;
    auto debugged = loop->attach(process.id(), {.follow_children = true});
    ASSERT_TRUE(debugged.has_value());
    process.shared().go = 1;
    ASSERT_TRUE(loop.until_seen(Kind::forked));
    const auto child = loop.first(Kind::forked)->child;
    ASSERT_NE(child, nullptr);
    EXPECT_EQ(loop->processes().size(), 2u);
    EXPECT_TRUE(eventually([&] { return process.shared().values[0] == 2; })) << "it runs";
    ASSERT_TRUE(child->pause().has_value());
    process.shared().values[1] = 1;
    nap(20ms);
    EXPECT_EQ(process.shared().counter, 1) << "held, it does not end";
    ASSERT_TRUE(child->resume().has_value());
    ASSERT_TRUE(loop.until_seen(Kind::exited, child->pid()));
    EXPECT_EQ(child->end()->value, 7);
    EXPECT_TRUE(eventually([&] { return process.shared().counter == 2; })) << "its parent gets its end, too";
  }
  EXPECT_EQ(process.shared().values[2], 0);
}

TEST(DebugEvents, AnEventCanHoldTheProcess) {
  const TestProcess process(fork_on_demand);
  Loop loop;
  DebugOptions options;
  options.follow_children = true;
  options.hold_at = DebugEventSet().with(Kind::forked).with(Kind::signalled);
  auto debugged = loop->attach(process.id(), options);
  ASSERT_TRUE(debugged.has_value());
  process.shared().values[1] = 1;
  process.shared().go = 1;
  ASSERT_TRUE(loop.until_seen(Kind::stopped, process.id()));
  ASSERT_TRUE(loop.until_seen(Kind::forked));
  const auto child = loop.first(Kind::forked)->child;
  ASSERT_TRUE(loop.until_seen(Kind::stopped, child->pid()));
  EXPECT_EQ(process.shared().values[0], 0) << "the child has run nothing";
  EXPECT_FALSE((*debugged)->is_running());
  ASSERT_TRUE(child->resume().has_value());
  ASSERT_TRUE(loop.until_seen(Kind::exited, child->pid()));
  EXPECT_EQ(process.shared().counter, 0);
  loop.forget();
  ASSERT_TRUE((*debugged)->resume().has_value());
  // Its SIGCHLD holds it again, and is delivered when it goes on.
  ASSERT_TRUE(loop.until_seen(Kind::stopped));
  EXPECT_EQ(loop.first(Kind::signalled)->value, SIGCHLD);
  ASSERT_TRUE((*debugged)->resume().has_value());
  EXPECT_TRUE(eventually([&] { return process.shared().counter == 1; }));
}

constexpr const char* kRole = "MIXSTACK_TEST_DEBUG_ROLE";

void* exec_from_thread(void*) {
  ::setenv(kRole, "second", 1);
  ::execl("/proc/self/exe", "second", nullptr);
  ::_exit(8);
}

void* exec_again(void*) {
  ::execl("/proc/self/exe", "again", nullptr);
  ::_exit(8);
}

/// This test program started with that variable set is another program.
__attribute__((constructor)) void play_role() {
  const char* role = ::getenv(kRole);
  if (role == nullptr) return;
  const std::string_view name = role;
  if (name == "thread-exec") {
    for (int i = 0; i < 20; i++) start_thread(waiting_thread, new Shared, 64 << 10);
    start_thread(exec_from_thread, nullptr);
  } else if (name == "main-exec") {
    for (int i = 0; i < 20; i++) start_thread(waiting_thread, new Shared, 64 << 10);
    exec_from_thread(nullptr);
  } else if (name == "exec-again") {
    for (int i = 0; i < 100; i++) start_thread(waiting_thread, new Shared, 64 << 10);
    nap(3ms);
    start_thread(exec_again, nullptr);
  } else if (name == "exit") {
    ::_exit(42);
  }
  for (;;) ::pause();
}

LaunchRequest role(const std::string& name) {
  LaunchRequest request;
  request.executable = "/proc/self/exe";
  request.executable = std::filesystem::read_symlink(request.executable);
  request.arguments = {"first", name};
  request.environment = {{std::string(kRole) + "=" + name}};
  request.options.kill_with_us = true;
  request.startup_limit *= slowness();
  return request;
}

std::string command_of(std::uint32_t pid) {
  const std::string text = slurp("/proc/" + std::to_string(pid) + "/cmdline");
  return text.substr(0, text.find('\0'));
}

TEST(DebugEvents, ExecReplacesTheProgramWhicheverThreadCallsIt) {
  for (const auto* name : {"thread-exec", "main-exec"}) {
    Loop loop;
    auto launched = loop->launch(role(name));
    ASSERT_TRUE(launched.has_value());
    DebuggedProcess& p = **launched;
    auto old = p.open_target();
    ASSERT_TRUE(old.has_value());
    ASSERT_TRUE(p.resume().has_value());
    ASSERT_TRUE(loop.until_seen(Kind::execed)) << name;
    EXPECT_EQ(command_of(p.pid()), "second");
    EXPECT_EQ(p.info().command_line, std::vector<std::string>{"second"});
    EXPECT_EQ((*old)->capture({}).error().code, ErrorCode::process_changed);
    ASSERT_TRUE(p.pause().has_value());
    EXPECT_EQ(*p.threads(), std::vector<ThreadId>{p.pid()});
    EXPECT_TRUE(p.registers(p.pid()).has_value());
    std::size_t before = 0;
    for (const auto& e : loop.events()) {
      if (e.kind == Kind::execed) break;
      before += e.kind == Kind::thread_exited ? 1 : 0;
    }
    EXPECT_EQ(before, loop.count(Kind::thread_created)) << "all that were born have gone";
    // The libraries of the new program are reported when it stops.
    EXPECT_TRUE(eventually([&] {
      (void)p.resume();
      nap(2ms);
      return p.pause() && p.libraries() && p.libraries()->size() > 3;
    }));
    EXPECT_TRUE(loop.until([&] { return loop.count(Kind::library_loaded) >= p.libraries()->size(); }));
  }
}

TEST(DebugEvents, AttachingWhileItExecsHarmsNobody) {
  const TestProcess process([](Shared& s) {
    ::setenv(kRole, "exec-again", 1);
    s.ready++;
    exec_again(nullptr);
  });
  Loop loop;
  int attached = 0, refused = 0;
  const auto end = std::chrono::steady_clock::now() + (slowness() > 1 ? 18s : 6s);
  while (std::chrono::steady_clock::now() < end) {
    auto debugged = loop->attach(process.id());
    if (!debugged) {
      EXPECT_NE(debugged.error().code, ErrorCode::already_traced);
      refused++;
      continue;
    }
    attached++;
    if (attached % 2 == 0) {
      const auto paused = (*debugged)->pause(10s);
      EXPECT_TRUE(paused.has_value()) << static_cast<int>(paused.error().code);
    }
    if (attached % 3 == 0) nap(4ms);
    EXPECT_TRUE((*debugged)->detach().has_value());
    loop.turn(0);
  }
  EXPECT_GT(attached, 50 / slowness());
  EXPECT_GT(loop.count(Kind::execed), 5u / static_cast<unsigned>(slowness()));
  EXPECT_TRUE(eventually([&] { return command_of(process.id()) == "again"; })) << "nothing in the middle of an exec";
  EXPECT_TRUE(eventually([&] { return is_untraced(process.pid()); }));
}

TEST(DebugEvents, VforkAndExecOfAChildThatIsFollowed) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    while (s.go == 0) nap(1ms);
    const pid_t child = ::vfork();
    if (child == 0) {
      ::execl("/bin/sleep", "sleep", "0.05", nullptr);
      ::_exit(9);
    }
    int status = 0;
    s.values[0] = ::waitpid(child, &status, 0) == child ? status : -1;
    s.counter = 1;
  });
  Loop loop;
  auto debugged = loop->attach(process.id(), {.follow_children = true});
  ASSERT_TRUE(debugged.has_value());
  process.shared().go = 1;
  ASSERT_TRUE(loop.until_seen(Kind::forked));
  EXPECT_EQ(loop.first(Kind::forked)->child_kind, ChildKind::vfork);
  const auto child = loop.first(Kind::forked)->child;
  ASSERT_TRUE(loop.until_seen(Kind::execed, child->pid()));
  ASSERT_TRUE(loop.until_seen(Kind::exited, child->pid()));
  EXPECT_EQ(child->end()->value, 0);
  EXPECT_TRUE(eventually([&] { return process.shared().counter == 1; }));
  EXPECT_EQ(process.shared().values[0], 0);
}

TEST(DebugEvents, AParentInVforkIsSaidNotToStop) {
  const TestProcess process([](Shared& s) {
    start_thread(counting_thread, &s);
    while (s.go == 0) nap(1ms);
    if (::vfork() == 0) {
      while (s.go == 1) nap(1ms);
      ::_exit(0);
    }
    s.values[0] = 1;
  });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  process.shared().go = 1;
  ASSERT_TRUE(loop.until_seen(Kind::forked));
  const Error late = (*debugged)->pause(100ms).error();
  EXPECT_EQ(late.code, ErrorCode::thread_not_stopped);
  EXPECT_EQ(late.value, process.id());
  EXPECT_TRUE(stands(process)) << "the other thread is held";
  EXPECT_EQ((*debugged)->stop({}, 50ms).error().code, ErrorCode::thread_not_stopped);
  loop.turn();
  EXPECT_EQ(loop.count(Kind::stopped), 0u);
  process.shared().go = 2;
  EXPECT_TRUE(loop.until_seen(Kind::stopped)) << "as soon as it can";
  EXPECT_EQ(process.shared().values[0], 0);
  // Detached while it cannot be: it is let go later.
  ASSERT_TRUE((*debugged)->resume().has_value());
  EXPECT_TRUE(eventually([&] { return process.shared().values[0] == 1; }));
  EXPECT_TRUE((*debugged)->detach().has_value());
}

TEST(DebugEvents, DetachFromAParentInVfork) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    while (s.go == 0) nap(1ms);
    if (::vfork() == 0) {
      while (s.go == 1) nap(1ms);
      ::_exit(0);
    }
    for (;;) s.counter++;
  });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  process.shared().go = 1;
  ASSERT_TRUE(loop.until_seen(Kind::forked));
  EXPECT_TRUE((*debugged)->detach().has_value());
  process.shared().go = 2;
  EXPECT_TRUE(counts(process));
  EXPECT_TRUE(eventually([&] { return is_untraced(process.pid()); }));
  EXPECT_TRUE(loop->attach(process.id()).has_value());
}

TEST(DebugEvents, EndsAreReportedHoweverTheyCome) {
  Loop loop;
  auto by_itself = loop->launch(role("exit"));
  ASSERT_TRUE(by_itself.has_value());
  ASSERT_TRUE((*by_itself)->resume().has_value());
  ASSERT_TRUE(loop.until_seen(Kind::exited));
  EXPECT_EQ(loop.first(Kind::exited)->value, 42);
  // Killed while it stands still, while it runs, and by a signal it does not handle.
  for (int way = 0; way < 3; way++) {
    loop.forget();
    auto launched = loop->launch(role("wait"));
    ASSERT_TRUE(launched.has_value());
    if (way > 0) {
      ASSERT_TRUE((*launched)->resume().has_value());
    }
    if (way < 2)
      ::kill(static_cast<pid_t>((*launched)->pid()), SIGKILL);
    else
      ::kill(static_cast<pid_t>((*launched)->pid()), SIGTERM);
    ASSERT_TRUE(loop.until_seen(Kind::killed));
    EXPECT_EQ(loop.first(Kind::killed)->value, way < 2 ? SIGKILL : SIGTERM);
    EXPECT_TRUE((*launched)->is_terminated());
    EXPECT_EQ(loop.events().back().kind, Kind::killed) << "the last event";
  }
  EXPECT_EQ(loop->handle_events(true), 0u) << "none is left";
}

TEST(DebugEvents, AMainThreadThatEndsFirst) {
  const TestProcess process([](Shared& s) {
    start_thread(counting_thread, &s);
    while (s.go == 0) nap(1ms);
    ::syscall(SYS_exit, 0);
  });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  process.shared().go = 1;
  ASSERT_TRUE(eventually([&] { return state_of(process.pid()) == 'Z'; }));
  ASSERT_TRUE((*debugged)->pause(10s).has_value());
  EXPECT_TRUE(loop.until_seen(Kind::thread_exited));
  EXPECT_EQ(loop.first(Kind::thread_exited)->tid, process.id());
  EXPECT_EQ((*debugged)->threads()->size(), 1u);
  EXPECT_TRUE(stands(process));
  EXPECT_TRUE((*debugged)->detach().has_value());
  EXPECT_TRUE(counts(process));
  // Attached to in that state.
  auto again = loop->attach(process.id(), {.hold = true});
  ASSERT_TRUE(again.has_value()) << static_cast<int>(again.error().code);
  EXPECT_TRUE(stands(process));
  ::kill(process.pid(), SIGTERM);
  ASSERT_TRUE((*again)->resume().has_value());
  ASSERT_TRUE(loop.until_seen(Kind::killed));
  EXPECT_EQ(loop.first(Kind::killed)->value, SIGTERM);
}

}  // namespace
}  // namespace mixstack::process
