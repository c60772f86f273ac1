#include "agent/in_process/alternate_stack.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <cstdint>
#include <thread>

namespace mixstack::agent {
namespace {

constexpr std::size_t kRuntimes = 16 << 10;

stack_t stack_now() {
  stack_t now{};
  EXPECT_EQ(::sigaltstack(nullptr, &now), 0);
  return now;
}

/// As the runtime makes one: mapped, with a guard. Answers false where it could not be had.
bool make_small(std::size_t size) {
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const stack_t small{.ss_sp = memory, .ss_flags = 0, .ss_size = size};
  return memory != MAP_FAILED && ::mprotect(memory, 4096, PROT_NONE) == 0 && ::sigaltstack(&small, nullptr) == 0;
}

/// As the runtime does when a thread ends.
void unmap() {
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = static_cast<std::size_t>(MINSIGSTKSZ)};
  stack_t now{};
  ASSERT_EQ(::sigaltstack(&none, &now), 0);
  EXPECT_EQ(::munmap(now.ss_sp, now.ss_size), 0);
}

AlternateStacks* g_stacks = nullptr;
char* g_local = nullptr;

void on_signal(int, siginfo_t*, void* context) {
  char here = 0;
  g_local = &here;
  g_stacks->enlarge_interrupted(*static_cast<ucontext_t*>(context));
}

void raise_one(int flags) {
  struct sigaction action {
  }, before{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | flags;
  ASSERT_EQ(::sigaction(SIGUSR1, &action, &before), 0);
  ASSERT_EQ(::raise(SIGUSR1), 0);
  ASSERT_EQ(::sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST(AlternateStacks, OnesOwnIsExchangedForALargerOne) {
  std::thread([] {
    ASSERT_TRUE(make_small(kRuntimes));
    AlternateStacks stacks;
    stacks.enlarge_own();
    EXPECT_EQ(stack_now().ss_size, AlternateStacks::kSize);
    const void* larger = stack_now().ss_sp;
    stacks.enlarge_own();
    EXPECT_EQ(stack_now().ss_sp, larger) << "once";
    unmap();
  }).join();
}

TEST(AlternateStacks, OfAnotherSizeItIsNotTheRuntimes) {
  std::thread([] {
    ASSERT_TRUE(make_small(kRuntimes));
    AlternateStacks stacks;
    unmap();
    stacks.enlarge_own();
    EXPECT_NE(stack_now().ss_flags & SS_DISABLE, 0);
    ASSERT_TRUE(make_small(kRuntimes + 4096));
    stacks.enlarge_own();
    EXPECT_EQ(stack_now().ss_size, kRuntimes + 4096);
    unmap();
  }).join();
}

TEST(AlternateStacks, AnInterruptedThreadHasItBehindTheHandler) {
  std::thread([] {
    ASSERT_TRUE(make_small(kRuntimes));
    AlternateStacks stacks;
    g_stacks = &stacks;
    const stack_t before = stack_now();
    raise_one(0);
    EXPECT_EQ(stack_now().ss_size, AlternateStacks::kSize);
    EXPECT_EQ(::munmap(before.ss_sp, before.ss_size), 0) << "stays mapped";
    raise_one(SA_ONSTACK);
    const auto at = reinterpret_cast<std::uintptr_t>(g_local) - reinterpret_cast<std::uintptr_t>(stack_now().ss_sp);
    EXPECT_LT(at, AlternateStacks::kSize) << "is used";
    unmap();
  }).join();
}

TEST(AlternateStacks, OneThatIsInUseStays) {
  std::thread([] {
    ASSERT_TRUE(make_small(kRuntimes));
    AlternateStacks stacks;
    g_stacks = &stacks;
    raise_one(SA_ONSTACK);
    EXPECT_EQ(stack_now().ss_size, kRuntimes);
    unmap();
  }).join();
}

}  // namespace
}  // namespace mixstack::agent
