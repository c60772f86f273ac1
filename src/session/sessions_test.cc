// Sessions side by side, of our own process and of programs that are started.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include "support/dotnet_process.h"
#include "support/patient_walker.h"
#include "support/source_folder.h"

namespace mixstack {
namespace {

using test::patient;
using test::walker_of;

TEST(ParallelWalkers, DifferentSessionsInDifferentThreads) {
  const test::DotnetProcess first("generics"), second("locks");
  if (!first.ready() || !second.ready()) GTEST_SKIP() << "the scenarios are not built";
  std::vector<std::thread> threads;
  std::array<std::size_t, 4> frames{};
  for (std::size_t i = 0; i < frames.size(); i++) {
    threads.emplace_back([&, i] {
      const auto pid = static_cast<std::uint32_t>((i % 2 == 0 ? first : second).pid());
      for (int round = 0; round < 5; round++) {
        auto session = Session::open_process(pid);
        if (!session) continue;
        // Two sessions of one process may meet: only one can trace it at a time.
        if (const auto dump = (*session)->dump(patient()))
          for (const ThreadDump& t : dump->threads) frames[i] += t.trace.frames.size();
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_GT(frames[0] + frames[2], 100u);
  EXPECT_GT(frames[1] + frames[3], 100u);
}

#if defined(__x86_64__)
constexpr std::array<unsigned char, 20> kBytes{};

/// A walker's answer about a thread, in words.
std::string said_of(Walker& walker, const ThreadCapture& thread) {
  std::string text = std::to_string(thread.tid);
  const Trace trace = walker.walk(thread);
  for (const Frame& f : trace.frames) text += "\n" + walker.name(f).name + (f.trust == Trust::certain ? "" : " ?");
  const auto facts = walker.managed(thread);
  return text + "\n" + std::string(to_string(trace.stop)) + (facts ? " " + facts->name : "");
}

TEST(ParallelWalkers, OfOneSessionInDifferentThreads) {
  const test::DotnetProcess process("locks");
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  process.stop();
  auto session = Session::open_process(static_cast<std::uint32_t>(process.pid()));
  ASSERT_TRUE(session);
  auto alone = walker_of(**session);
  ASSERT_TRUE(alone);
  std::vector<std::string> expected;
  for (const ThreadCapture& thread : alone->capture().threads) expected.push_back(said_of(*alone, thread));
  ASSERT_GT(expected.size(), 5u);

  std::vector<Walker> walkers;
  for (int i = 0; i < 10; i++) {
    auto walker = walker_of(**session);
    ASSERT_TRUE(walker);
    walkers.push_back(std::move(*walker));
  }
  std::vector<std::vector<std::string>> seen(walkers.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < walkers.size(); i++)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; round++) {
        seen[i].clear();
        for (const ThreadCapture& thread : walkers[i].capture().threads) seen[i].push_back(said_of(walkers[i], thread));
      }
    });
  for (std::thread& t : threads) t.join();
  for (const auto& texts : seen) EXPECT_EQ(texts, expected);
  // An earlier capture, after later ones and a dump.
  ASSERT_TRUE((*session)->dump(patient()));
  std::vector<std::string> again;
  for (const ThreadCapture& thread : alone->capture().threads) again.push_back(said_of(*alone, thread));
  EXPECT_EQ(again, expected);
}

TEST(Sessions, SeeLibrariesThatComeLater) {
  int order[2];
  ASSERT_EQ(::pipe(order), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char go = 0;
    while (::read(order[0], &go, 1) == 1) {
      // The child of a test has one thread: loading is safe here.
      if (void* library = ::dlopen("libz.so.1", RTLD_NOW); library != nullptr)
        if (auto* crc = reinterpret_cast<unsigned long (*)(unsigned long, const unsigned char*, unsigned)>(
                ::dlsym(library, "crc32_z"));
            crc != nullptr)
          for (;;) (void)crc(0, kBytes.data(), kBytes.size());
    }
    ::_exit(0);
  }
  auto session = Session::open_process(static_cast<std::uint32_t>(pid));
  ASSERT_TRUE(session);
  ASSERT_TRUE((*session)->dump(patient()));
  ASSERT_EQ(::write(order[1], "g", 1), 1);
  bool seen = false;
  for (int i = 0; i < 200 && !seen; i++) {
    ::usleep(10'000);
    const auto dump = (*session)->dump(patient());
    ASSERT_TRUE(dump);
    for (const std::uint32_t symbol : dump->threads.front().symbols)
      seen |= dump->symbols[symbol].module.starts_with("libz.so");
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(seen);
}
#endif

[[gnu::noinline]] Result<ProcessDump> look_at_ourselves(Session& session) {
  auto dump = session.dump(patient());
  asm volatile("" ::: "memory");
  return dump;
}

TEST(Self, TheCallingThreadFromItsCaller) {
  auto session = Session::open_self();
  ASSERT_TRUE(session);
  const auto dump = look_at_ourselves(**session);
  ASSERT_TRUE(dump);
  const auto tid = static_cast<ThreadId>(::gettid());
  const auto& threads = dump->threads;
  const auto own = std::find_if(threads.begin(), threads.end(), [&](const ThreadDump& t) { return t.tid == tid; });
  ASSERT_NE(own, threads.end());
  EXPECT_TRUE(own->captured);
  EXPECT_EQ(own->trace.stop, StopReason::end_of_stack);
  const auto named = [&](std::string_view part) {
    return std::any_of(own->symbols.begin(), own->symbols.end(),
                       [&](std::uint32_t s) { return dump->symbols[s].name.find(part) != std::string::npos; });
  };
  EXPECT_TRUE(named("look_at_ourselves"));
  EXPECT_TRUE(named("TheCallingThreadFromItsCaller"));
  EXPECT_TRUE(named("main"));
}

TEST(Self, OtherThreadsBothWays) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) ::usleep(1000);
  });
  for (const OwnThreads way : {OwnThreads::by_signal, OwnThreads::by_helper}) {
    auto session = Session::open_self({.others = way, .signal = way == OwnThreads::by_signal ? SIGRTMIN + 3 : 0});
    ASSERT_TRUE(session);
    const auto dump = (*session)->dump(patient());
    ASSERT_TRUE(dump);
    EXPECT_GE(dump->threads.size(), 2u);
    for (const ThreadDump& t : dump->threads) EXPECT_TRUE(t.captured) << static_cast<int>(way) << " " << t.tid;
  }
  done = true;
  other.join();
}

/// Held at its first instruction, nobody has called it: the link register of AArch64 says so with a zero.
TEST(Launch, AStaticProgramHeldAtItsEntryHasAWholeStack) {
  const std::string program = mixstack::test::source_folder() + "/build/debuggees/native/stay";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << program << " is not built";
  const pid_t pid = ::fork();
  if (pid == 0) {
    (void)::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    ::execl(program.c_str(), program.c_str(), nullptr);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  ASSERT_TRUE(WIFSTOPPED(status));
  // Stopped without a tracer: ours may come.
  ASSERT_EQ(::ptrace(PTRACE_DETACH, pid, nullptr, SIGSTOP), 0);
  auto session = Session::open_process(static_cast<std::uint32_t>(pid));
  if (!session) ::kill(pid, SIGKILL);
  ASSERT_TRUE(session);
  const auto dump = (*session)->dump(patient());
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  ASSERT_TRUE(dump);
  ASSERT_EQ(dump->threads.size(), 1u);
  const Trace& trace = dump->threads.front().trace;
  EXPECT_EQ(trace.stop, StopReason::end_of_stack) << static_cast<int>(trace.stop_error.code);
  EXPECT_EQ(trace.frames.size(), 1u);
}

TEST(Launch, StartsAProgramAndOpensIt) {
  auto session = Session::launch({{"sleep", "30"}, {}});
  ASSERT_TRUE(session);
  const auto pid = static_cast<pid_t>((*session)->target().info().pid);
  const auto dump = (*session)->dump(patient());
  ::kill(pid, SIGKILL);
  EXPECT_EQ(::waitpid(pid, nullptr, 0), pid);
  ASSERT_TRUE(dump) << static_cast<int>(dump.error().code) << " " << dump.error().os_error;
  ASSERT_EQ(dump->threads.size(), 1u);
  EXPECT_GE(dump->threads.front().trace.frames.size(), 1u);
  EXPECT_EQ(Session::launch({{"/nonexistent/program"}, {}}).error().os_error, ENOENT);
  EXPECT_EQ(Session::launch({}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Session::open(nullptr).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace mixstack
