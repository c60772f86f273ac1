// Events of libraries and signals; and the event of an end, whenever it comes.
#include <dlfcn.h>

#include <algorithm>

#include "process/debugger/debug_test.h"

namespace mixstack::process {
namespace {

using namespace test;

TEST(DebugReports, LibrariesComeAndGoWithoutATrap) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) {
      void* library = ::dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);
      void* other = ::dlmopen(LM_ID_NEWLM, "libm.so.6", RTLD_NOW);
      if (library == nullptr || other == nullptr) ::_exit(3);
      s.go = 1;
      while (s.go == 1) nap(100us);
      ::dlclose(other);
      ::dlclose(library);
      s.counter++;
      s.go = 2;
      while (s.go == 2) nap(100us);
    }
  });
  ASSERT_TRUE(eventually([&] { return process.shared().go == 1; }));
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  DebuggedProcess& p = **debugged;
  // Without a file of the linker's: libz is linked to this program, too, so what comes and goes is the other namespace.
  const auto ends_with_libm = [](const LoadedLibrary& l) { return l.path.find("libm.so.6") != std::string::npos; };
  const auto copies = [&] {
    const auto all = p.libraries();
    return all ? std::count_if(all->begin(), all->end(), ends_with_libm) : -1;
  };
  const auto with = copies();
  for (int i = 0; i < 10; i++) {
    process.shared().go = 0;
    ASSERT_TRUE(eventually([&] { return process.shared().go == 2; }));
    ASSERT_TRUE(p.pause().has_value());
    EXPECT_EQ(copies(), with - 1);
    EXPECT_TRUE(loop.until([&] { return loop.count(Kind::library_unloaded) > 0; }));
    EXPECT_TRUE(ends_with_libm(loop.first(Kind::library_unloaded)->library) || loop.count(Kind::library_unloaded) > 1);
    ASSERT_TRUE(p.resume().has_value());
    loop.forget();
    process.shared().go = 0;
    ASSERT_TRUE(eventually([&] { return process.shared().go == 1; }));
    ASSERT_TRUE(p.pause().has_value());
    EXPECT_EQ(copies(), with);
    EXPECT_TRUE(loop.until([&] { return loop.count(Kind::library_loaded) > 0; }));
    ASSERT_TRUE(p.resume().has_value());
    loop.forget();
  }
  // The linker's list is what is mapped.
  const std::string maps = slurp("/proc/" + std::to_string(p.pid()) + "/maps");
  const auto all = p.libraries();
  ASSERT_TRUE(all.has_value());
  EXPECT_TRUE(all->front().executable);
  EXPECT_EQ(all->front().path, p.info().executable);
  for (const auto& l : *all) {
    const std::string name = l.path.substr(l.path.rfind('/') + 1);
    if (name.find("linux-vdso") != std::string::npos) continue;
    EXPECT_NE(maps.find(name), std::string::npos) << l.path;
  }
  // And the trap that is not planted is one instruction in the linker.
  const auto trap = p.library_trap_address();
  ASSERT_TRUE(trap.has_value());
  const auto code = p.memory().read<std::uint8_t>(*trap);
  ASSERT_TRUE(code.has_value());
  EXPECT_NE(*code, 0xCC);
}

std::atomic<long>* g_signals = nullptr;
void count_signal(int, siginfo_t* info, void*) {
  g_signals[0]++;
  g_signals[1] += info->si_value.sival_int;
}

TEST(DebugReports, NoQueuedSignalIsLost) {
  const TestProcess process(
      [](Shared& s) {
        g_signals = s.values;
        struct sigaction action {};
        action.sa_sigaction = count_signal;
        action.sa_flags = SA_SIGINFO | SA_RESTART;
        ::sigaction(SIGRTMIN, &action, nullptr);
        ::sigaction(SIGUSR1, &action, nullptr);
        for (int i = 0; i < 3; i++) start_thread(counting_thread, &s);
      },
      3);
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  long sent = 0, sum = 0;
  for (int i = 0; i < 2000; i++) {
    sigval value{};
    value.sival_int = i;
    if (::sigqueue(process.pid(), SIGRTMIN, value) == 0) {
      sent++;
      sum += i;
    }
    if (i % 20 == 0) {
      ASSERT_TRUE((*debugged)->pause().has_value());
      loop.turn(0);
      ASSERT_TRUE((*debugged)->resume().has_value());
    }
  }
  EXPECT_TRUE(eventually([&] { return process.shared().values[0] == sent; }))
      << process.shared().values[0] << " of " << sent;
  EXPECT_EQ(process.shared().values[1], sum) << "with their values";
  loop.turn();
  EXPECT_EQ(loop.count(Kind::signalled), static_cast<std::size_t>(sent));
}

TEST(DebugReports, KilledAtAnyInstant) {
  for (int round = 0; round < 60; round++) {
    Loop loop;
    const TestProcess process(
        [](Shared& s) {
          start_thread(spawner, &s);
          start_thread(counting_thread, &s);
          s.go = 1;
        },
        2);
    auto debugged = loop->attach(process.id());
    ASSERT_TRUE(debugged.has_value());
    const TestProcess killer([&](Shared& s) {
      s.ready++;
      nap(std::chrono::microseconds(500 + 97 * round));
      ::kill(process.pid(), SIGKILL);
    });
    Error error;
    // A machine that does other work may not stop a thread in time.
    while (error.code == ErrorCode::none || error.code == ErrorCode::thread_not_stopped) {
      error = {};
      if (auto r = (*debugged)->pause(); !r) error = r.error();
      if (auto r = (*debugged)->resume(); !r) error = r.error();
    }
    EXPECT_EQ(error.code, ErrorCode::no_such_process);
    EXPECT_TRUE(loop.until_seen(Kind::killed));
    EXPECT_EQ(loop.count(Kind::killed), 1u);
  }
}

}  // namespace
}  // namespace mixstack::process
