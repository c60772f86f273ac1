#include "agent/alternate_stack.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include <csignal>
#include <cstdint>

#include "memory/system_call.h"
#include "self_walk/host.h"

namespace mixstack::agent {
namespace {

constexpr std::size_t kPage = 4096;

[[nodiscard]] std::uint64_t word(const void* pointer) {
  return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}

}  // namespace

AlternateStacks::AlternateStacks() {
  stack_t own{};
  if (::sigaltstack(nullptr, &own) == 0 && (own.ss_flags & SS_DISABLE) == 0) runtimes_size_ = own.ss_size;
}

bool AlternateStacks::is_of_runtime(const stack_t& stack) const noexcept {
  return runtimes_size_ != 0 && runtimes_size_ < kSize && stack.ss_size == runtimes_size_ &&
         (stack.ss_flags & (SS_DISABLE | SS_ONSTACK)) == 0 && word(stack.ss_sp) % kPage == 0;
}

bool AlternateStacks::map(stack_t& out) noexcept {
  const std::int64_t at = memory::system_call(SYS_mmap, 0, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                                              ~std::uint64_t{0}, 0);
  if (at < 0) return false;
  // A stack without a guard is still better than one that is too small.
  (void)memory::system_call(SYS_mprotect, static_cast<std::uint64_t>(at), kPage, PROT_NONE);
  out.ss_sp = reinterpret_cast<void*>(at);
  out.ss_size = kSize;
  out.ss_flags = 0;
  return true;
}

void AlternateStacks::enlarge_own() const {
  stack_t own{}, larger{};
  if (::sigaltstack(nullptr, &own) != 0 || !is_of_runtime(own) || !map(larger)) return;
  const stack_t& unused = ::sigaltstack(&larger, nullptr) == 0 ? own : larger;
  (void)::munmap(unused.ss_sp, unused.ss_size);
}

void AlternateStacks::enlarge_interrupted(ucontext_t& context) noexcept {
  const stack_t& now = context.uc_stack;
  // Whether the interrupted code is on it; ours may be. (The kernel does not say here whether it is in use.)
  const bool is_on_it = self_walk::host::light_frame(&context).sp - word(now.ss_sp) < now.ss_size;
  if (is_on_it || !is_of_runtime(now)) return;
  if (replaced_.fetch_add(1, std::memory_order_relaxed) >= kMostReplaced) return;
  (void)map(context.uc_stack);
}

}  // namespace mixstack::agent
