// Our own process, seen from signal handlers on alternate stacks.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include "mixstack/session.h"

namespace mixstack {
namespace {

constexpr std::size_t kStackSize = 1 << 20;
const std::function<void()>* g_work = nullptr;
void handle_on_alternate_stack(int) {
  (*g_work)();
  asm volatile("" ::: "memory");  // no tail call
}

/// Runs `work` in a handler on an alternate stack, which a signal has interrupted `run_on_alternate_stack` for.
[[gnu::noinline]] void run_on_alternate_stack(const std::function<void()>& work) {
  const auto memory = std::make_unique<char[]>(kStackSize);
  stack_t stack{}, before{};
  stack.ss_sp = memory.get();
  stack.ss_size = kStackSize;
  ::sigaltstack(&stack, &before);
  struct sigaction action {
  }, action_before{};
  action.sa_handler = handle_on_alternate_stack;
  action.sa_flags = SA_ONSTACK;
  ::sigaction(SIGUSR2, &action, &action_before);
  g_work = &work;
  ::pthread_kill(::pthread_self(), SIGUSR2);
  ::sigaction(SIGUSR2, &action_before, nullptr);
  ::sigaltstack(&before, nullptr);
}

[[gnu::noinline]] void interrupted_function(int depth, const std::function<void()>& work) {
  if (depth == 0) {
    run_on_alternate_stack(work);
  } else {
    interrupted_function(depth - 1, work);
  }
  asm volatile("" ::: "memory");
}

DumpOptions patient() {
  DumpOptions options;
  options.stop_timeout = std::chrono::seconds(5);
  return options;
}

const ThreadDump* find(const ProcessDump& dump, ThreadId tid) {
  const auto found =
      std::find_if(dump.threads.begin(), dump.threads.end(), [&](const ThreadDump& t) { return t.tid == tid; });
  return found == dump.threads.end() ? nullptr : &*found;
}

long count_of(const ProcessDump& dump, const ThreadDump& thread, std::string_view part) {
  return std::count_if(thread.symbols.begin(), thread.symbols.end(), [&](std::uint32_t s) {
    return dump.symbols[own_function(dump.symbols, s)].name.find(part) != std::string::npos;
  });
}

void expect_whole(const Result<ProcessDump>& dump, ThreadId tid, bool is_main) {
  ASSERT_TRUE(dump);
  const ThreadDump* thread = find(*dump, tid);
  ASSERT_NE(thread, nullptr);
  ASSERT_TRUE(thread->captured);
  EXPECT_EQ(thread->trace.stop, StopReason::end_of_stack)
      << std::hex << thread->trace.stop_error.value << " after " << std::dec << thread->trace.frames.size()
      << " frames, sp " << std::hex << thread->trace.frames.back().sp;
  EXPECT_EQ(count_of(*dump, *thread, "interrupted_function"), 6);
  EXPECT_GE(count_of(*dump, *thread, "handle_on_alternate_stack"), 1);
  if (is_main) {
    EXPECT_EQ(dump->symbols[thread->symbols[thread->symbols.size() - 1]].name, "_start");
  }
}

Result<ProcessDump> dump_ourselves(OwnThreads way) {
  auto session = Session::open_self({.others = way, .signal = way == OwnThreads::by_signal ? SIGRTMIN + 3 : 0});
  if (!session) return fail(session.error());
  return (*session)->dump(patient());
}

class OnAlternateStack : public ::testing::TestWithParam<OwnThreads> {};

TEST_P(OnAlternateStack, TheCallingThreadIsWalkedToItsEnd) {
  Result<ProcessDump> dump = fail(ErrorCode::internal);
  interrupted_function(5, [&] { dump = dump_ourselves(GetParam()); });
  expect_whole(dump, static_cast<ThreadId>(::getpid()), true);
}

TEST_P(OnAlternateStack, AThreadThatIsNotTheMainOne) {
  Result<ProcessDump> dump = fail(ErrorCode::internal);
  ThreadId tid = 0;
  std::thread([&] {
    tid = static_cast<ThreadId>(::gettid());
    interrupted_function(5, [&] { dump = dump_ourselves(GetParam()); });
  }).join();
  expect_whole(dump, tid, false);
}

TEST_P(OnAlternateStack, OtherThreadsInHandlersOfTheirs) {
  std::atomic<ThreadId> tid{0};
  std::atomic<bool> done{false};
  std::thread other([&] {
    interrupted_function(5, [&] {
      tid = static_cast<ThreadId>(::gettid());
      while (!done) ::usleep(1000);
    });
  });
  while (tid == 0) ::usleep(1000);
  const auto dump = dump_ourselves(GetParam());
  done = true;
  other.join();
  if (GetParam() != OwnThreads::calling_only) return expect_whole(dump, tid, false);
  ASSERT_TRUE(dump);
  ASSERT_NE(find(*dump, tid), nullptr);
  EXPECT_EQ(find(*dump, tid)->capture_error.code, ErrorCode::unsupported);
}
INSTANTIATE_TEST_SUITE_P(Ways, OnAlternateStack,
                         ::testing::Values(OwnThreads::calling_only, OwnThreads::by_signal, OwnThreads::by_helper));

}  // namespace
}  // namespace mixstack
