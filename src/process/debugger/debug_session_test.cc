// Pause, resume, detach, end: the life of a debugged process.
#include "process/debugger/debug_session.h"

#include <fcntl.h>

#include "process/debugger/debug_test.h"
#include "process/live/ptrace_refusal.h"

namespace mixstack::process {
namespace {

using namespace test;

TEST(DebugSession, PauseAndResumeMoveAllThreads) {
  const TestProcess process(
      [](Shared& s) {
        start_thread(counting_thread, &s);
        start_thread(waiting_thread, &s);
      },
      2);
  ASSERT_TRUE(process.is_ready());
  Loop loop;
  ASSERT_TRUE(loop.is_open());
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value()) << static_cast<int>(debugged.error().code) << " " << debugged.error().os_error;
  DebuggedProcess& p = **debugged;
  EXPECT_TRUE(counts(process)) << "attaching does not stop it";
  EXPECT_TRUE(p.is_running());
  const auto threads = p.threads();
  ASSERT_TRUE(threads.has_value());
  ASSERT_EQ(threads->size(), 3u);
  EXPECT_EQ(threads->front(), process.id());
  EXPECT_EQ(p.registers(process.id()).error().code, ErrorCode::thread_not_stopped);

  for (int i = 0; i < 20; i++) {
    ASSERT_TRUE(p.pause().has_value());
    EXPECT_TRUE(stands(process));
    EXPECT_FALSE(p.is_running());
    for (const ThreadId tid : *threads) EXPECT_TRUE(p.registers(tid).has_value());
    EXPECT_TRUE(p.pause().has_value()) << "once more changes nothing";
    ASSERT_TRUE(p.resume().has_value());
    EXPECT_TRUE(counts(process));
  }
  EXPECT_TRUE(loop.until_seen(Kind::stopped, process.id(), 20));
  EXPECT_EQ(loop.count(Kind::stopped), 20u);
  EXPECT_EQ(loop.events().size(), 20u) << "nothing else happened";
  EXPECT_TRUE(p.detach().has_value());
  EXPECT_TRUE(counts(process));
  EXPECT_TRUE(is_untraced(process.pid()));
}

TEST(DebugSession, OneThreadIsHeldWhileOthersRun) {
  const TestProcess process(
      [](Shared& s) {
        start_thread(counting_thread, &s);
        s.values[0] = gettid_now();
        for (;;) s.values[1]++;
      },
      1);
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  DebuggedProcess& p = **debugged;
  const ThreadId counter = p.threads()->at(1);
  ASSERT_TRUE(p.pause(counter).has_value());
  EXPECT_TRUE(stands(process));
  EXPECT_TRUE(p.is_running());
  EXPECT_TRUE(p.is_stopped(counter));
  const long others = process.shared().values[1];
  EXPECT_TRUE(eventually([&] { return process.shared().values[1] > others; }));

  // Held as a whole, with one let go.
  ASSERT_TRUE(p.pause().has_value());
  ASSERT_TRUE(p.resume(counter).has_value());
  EXPECT_TRUE(counts(process));
  EXPECT_TRUE(p.is_stopped(process.id()));
  EXPECT_EQ(p.pause(1).error().code, ErrorCode::no_such_thread);
  EXPECT_EQ(p.resume(1).error().code, ErrorCode::no_such_thread);
  EXPECT_TRUE(p.resume().has_value());
}

TEST(DebugSession, GuardsCountAndPauseDoesNot) {
  const TestProcess process([](Shared& s) { start_thread(counting_thread, &s); });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  DebuggedProcess& p = **debugged;
  const ThreadId counter = p.threads()->at(1);
  {
    auto outer = p.stop();
    ASSERT_TRUE(outer.has_value());
    EXPECT_TRUE(p.is_running()) << "a guard is not the user's pause";
    const ThreadId one[] = {counter};
    auto inner = p.stop(one);
    ASSERT_TRUE(inner.has_value());
    outer->release();
    outer->release();
    EXPECT_TRUE(stands(process));
    EXPECT_FALSE(p.is_stopped(process.id()));
    EXPECT_TRUE(p.resume().has_value());
    EXPECT_TRUE(stands(process)) << "the guard holds on";
    ThreadHold moved = std::move(*inner);
    EXPECT_TRUE(stands(process));
    EXPECT_EQ(moved.process().get(), &p);
  }
  EXPECT_TRUE(counts(process));
  const ThreadId none[] = {1};
  EXPECT_EQ(p.stop(none).error().code, ErrorCode::no_such_thread);
  EXPECT_EQ(loop.count(Kind::stopped), 0u);
}

TEST(DebugSession, AGuardOfItsOwnStopsAProcessThatNobodyDebugs) {
  const TestProcess process([](Shared& s) { start_thread(counting_thread, &s); });
  {
    auto guard = stop_process(process.id());
    ASSERT_TRUE(guard.has_value());
    EXPECT_TRUE(stands(process));
    EXPECT_FALSE(is_untraced(process.pid()));
    EXPECT_EQ(stop_process(process.id()).error().code, ErrorCode::already_traced);
  }
  EXPECT_TRUE(counts(process));
  EXPECT_TRUE(is_untraced(process.pid()));
}

TEST(DebugSession, CallsAfterTheEndHaveTheirErrors) {
  Loop loop;
  std::shared_ptr<DebuggedProcess> ended, detached, orphaned;
  {
    const TestProcess process([](Shared& s) { s.ready++; });
    ended = *loop->attach(process.id());
  }
  EXPECT_TRUE(loop.until_seen(Kind::killed));
  EXPECT_TRUE(ended->is_terminated());
  EXPECT_FALSE(ended->is_running());
  ASSERT_TRUE(ended->end().has_value());
  EXPECT_EQ(ended->end()->value, SIGKILL);
  EXPECT_EQ(ended->pause().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(ended->resume().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(ended->detach().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(ended->kill().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(ended->threads().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(ended->open_target().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(ended->stop().error().code, ErrorCode::no_such_process);
  EXPECT_FALSE(ended->memory().read<int>(0x1000).has_value());

  const TestProcess process([](Shared& s) { s.ready++; });
  detached = *loop->attach(process.id());
  EXPECT_EQ(loop->find(process.id()), detached);
  EXPECT_TRUE(detached->detach().has_value());
  EXPECT_EQ(detached->detach().error().code, ErrorCode::not_found) << "twice";
  EXPECT_EQ(detached->pause().error().code, ErrorCode::not_found);
  EXPECT_FALSE(detached->is_terminated());
  EXPECT_FALSE(detached->is_debugged());
  EXPECT_TRUE(detached->is_running());
  EXPECT_EQ(loop->find(process.id()), nullptr);
  EXPECT_TRUE(loop.until_seen(Kind::detached));

  orphaned = *loop->attach(process.id(), {.hold = true});
  EXPECT_FALSE(orphaned->is_running());
  auto target = orphaned->open_target();
  loop.close();
  EXPECT_EQ(orphaned->pause().error().code, ErrorCode::not_found);
  EXPECT_EQ((*target)->capture({}).error().code, ErrorCode::not_found);
  EXPECT_TRUE(is_untraced(process.pid()));
  EXPECT_EQ(ended->pause().error().code, ErrorCode::no_such_process) << "an end outlives the session";
}

TEST(DebugSession, RefusalsAreNamed) {
  Loop loop;
  const TestProcess process([](Shared& s) { s.ready++; });
  const auto first = loop->attach(process.id());
  ASSERT_TRUE(first.has_value());
  const Error own = loop->attach(process.id()).error();
  EXPECT_EQ(own.code, ErrorCode::already_traced);
  EXPECT_EQ(own.value, loop->tracer_pid());
  Loop other;
  const Error theirs = other->attach(process.id()).error();
  EXPECT_EQ(theirs.code, ErrorCode::already_traced);
  EXPECT_EQ(theirs.value, loop->tracer_pid()) << "the tracer's id as the kernel names it";
  EXPECT_EQ(explain_ptrace_refusal(process.id()).tracer, loop->tracer_pid());
  EXPECT_EQ(other->attach(static_cast<std::uint32_t>(::getpid())).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(other->attach(static_cast<std::uint32_t>(gettid_now())).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(loop->attach(loop->tracer_pid()).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(other->attach(4'194'304).error().code, ErrorCode::no_such_process);
  EXPECT_EQ(other->attach(2).error().code, ErrorCode::unsupported) << "a kernel thread";
  EXPECT_TRUE(other->processes().empty());
  EXPECT_EQ(other->handle_events(true), 0u) << "nothing to wait for";
  EXPECT_EQ(loop->processes().size(), 1u);
}

TEST(DebugSession, JobControlStopsArePreserved) {
  const TestProcess process([](Shared& s) { start_thread(counting_thread, &s); });
  Loop loop;
  auto debugged = loop->attach(process.id());
  ASSERT_TRUE(debugged.has_value());
  DebuggedProcess& p = **debugged;
  ::kill(process.pid(), SIGSTOP);
  EXPECT_TRUE(loop.until_seen(Kind::signalled));
  EXPECT_TRUE(eventually([&] { return stands(process); }));
  // Pause and resume within the stop do not end it.
  ASSERT_TRUE(p.pause().has_value());
  EXPECT_TRUE(p.registers(p.threads()->at(1)).has_value());
  ASSERT_TRUE(p.resume().has_value());
  EXPECT_TRUE(stands(process));
  ::kill(process.pid(), SIGCONT);
  EXPECT_TRUE(counts(process));
  // SIGCONT while held: it goes on when it is let go, not before.
  ::kill(process.pid(), SIGSTOP);
  EXPECT_TRUE(eventually([&] { return stands(process); }));
  ASSERT_TRUE(p.pause().has_value());
  ::kill(process.pid(), SIGCONT);
  EXPECT_TRUE(stands(process));
  ASSERT_TRUE(p.resume().has_value());
  EXPECT_TRUE(counts(process));
  // Stopped processes can be attached to, and stay stopped after detach.
  ::kill(process.pid(), SIGSTOP);
  EXPECT_TRUE(eventually([&] { return stands(process); }));
  ASSERT_TRUE(p.detach().has_value());
  EXPECT_TRUE(eventually([&] { return state_of(process.pid()) == 'T'; }));
  auto again = loop->attach(process.id());
  ASSERT_TRUE(again.has_value());
  ASSERT_TRUE((*again)->pause().has_value());
  ASSERT_TRUE((*again)->detach().has_value());
  EXPECT_TRUE(eventually([&] { return state_of(process.pid()) == 'T'; }));
  ::kill(process.pid(), SIGCONT);
  EXPECT_TRUE(counts(process));
}

TEST(DebugSession, DetachCanLeaveItStopped) {
  const TestProcess process([](Shared& s) {
    for (int i = 0; i < 4; i++) start_thread(counting_thread, &s);
  });
  for (int i = 0; i < 20; i++) {
    Loop loop;
    auto debugged = loop->attach(process.id(), {.hold = true});
    ASSERT_TRUE(debugged.has_value());
    const long before = process.shared().counter;
    ASSERT_TRUE((*debugged)->detach(true).has_value());
    EXPECT_TRUE(eventually([&] { return state_of(process.pid()) == 'T'; }));
    EXPECT_EQ(process.shared().counter, before) << "not one instruction more";
    EXPECT_TRUE(is_untraced(process.pid()));
    ::kill(process.pid(), SIGCONT);
    EXPECT_TRUE(counts(process));
  }
}

TEST(DebugSession, AttachAndDetachTwoHundredTimes) {
  const TestProcess process(
      [](Shared& s) {
        for (int i = 0; i < 3; i++) start_thread(counting_thread, &s);
        start_thread(waiting_thread, &s);
      },
      4);
  Loop loop;
  for (int i = 0; i < 200; i++) {
    auto debugged = loop->attach(process.id(), {.hold = i % 2 == 0});
    ASSERT_TRUE(debugged.has_value()) << i;
    if (i % 3 == 0) {
      ASSERT_TRUE((*debugged)->pause().has_value());
    }
    ASSERT_TRUE((*debugged)->detach().has_value());
    ASSERT_TRUE(is_untraced(process.pid()));
  }
  EXPECT_TRUE(counts(process));
  loop.turn();
  EXPECT_EQ(loop.count(Kind::detached), 200u);
}

}  // namespace
}  // namespace mixstack::process
