#include "agent/in_process/alternate_stack.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdint>

#include "base/memory/system_call.h"
#include "engine/self_walk/host.h"

namespace mixstack::agent {
namespace {

constexpr std::size_t kPage = 4096;

[[nodiscard]] std::uint64_t word(const void* pointer) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace

AlternateStacks::AlternateStacks() {
  stack_t own{};
  if (::sigaltstack(nullptr, &own) == 0 && (own.ss_flags & SS_DISABLE) == 0) learn(own);
}

void AlternateStacks::learn(const stack_t& stack) noexcept {
  std::size_t none = 0;
  if ((stack.ss_flags & SS_DISABLE) == 0 && stack.ss_size < kSize)
    (void)runtimes_size_.compare_exchange_strong(none, stack.ss_size);
}

bool AlternateStacks::is_of_runtime(const stack_t& stack) const noexcept {
  const std::size_t size = runtimes_size_.load(std::memory_order_relaxed);
  return size != 0 && stack.ss_size == size && (stack.ss_flags & (SS_DISABLE | SS_ONSTACK)) == 0 &&
         word(stack.ss_sp) % kPage == 0;
}

bool AlternateStacks::map(stack_t& out) noexcept {
  const std::int64_t at = memory::system_call(SYS_mmap, 0, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                              ~std::uint64_t{0}, 0);
  if (at < 0) return false;
  // If the guard page fails: a larger stack without a guard is still better than one that is too small.
  (void)memory::system_call(SYS_mprotect, static_cast<std::uint64_t>(at), kPage, PROT_NONE);
  out.ss_sp = reinterpret_cast<void*>(at);
  out.ss_size = kSize;
  out.ss_flags = 0;
  return true;
}

void AlternateStacks::enlarge_own() {
  stack_t own{}, larger{};
  if (::sigaltstack(nullptr, &own) != 0) return;
  learn(own);
  if (!is_of_runtime(own) || !map(larger)) return;
  const stack_t& unused = ::sigaltstack(&larger, nullptr) == 0 ? own : larger;
  (void)::munmap(unused.ss_sp, unused.ss_size);
}

void AlternateStacks::enlarge_interrupted(ucontext_t& context, bool is_runtimes) noexcept {
  const stack_t& now = context.uc_stack;
  // Whether the interrupted code runs on it. (uc_stack has no SS_ONSTACK to tell; our own handler may be on it.)
  const bool is_on_it = self_walk::host::light_frame(&context).sp - word(now.ss_sp) < now.ss_size;
  if (is_runtimes) learn(now);
  if (is_on_it || !is_of_runtime(now)) return;
  if (replaced_.fetch_add(1, std::memory_order_relaxed) >= kMostReplaced) return;
  stack_t larger = now;
  if (!map(larger)) return;
  // Both now and in the context: sigreturn restores uc_stack, but ignores it if the handler runs on an alternate stack.
  if (memory::system_call(SYS_sigaltstack, word(&larger), 0) == 0)
    context.uc_stack = larger;
  else
    (void)memory::system_call(SYS_munmap, word(larger.ss_sp), kSize);
}

}  // namespace mixstack::agent
