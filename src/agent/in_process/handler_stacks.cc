#include "agent/in_process/handler_stacks.h"

#include <sys/mman.h>

#include <bit>

namespace mixstack::agent {
namespace {

constexpr std::size_t kPage = 4096;

}  // namespace

HandlerStacks::HandlerStacks() {
  void* memory =
      ::mmap(nullptr, kCount * kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  memory_ = static_cast<std::byte*>(memory);
  // If a guard page fails: a stack without one is still better than none.
  for (std::size_t i = 0; i < kCount; i++) (void)::mprotect(memory_ + i * kSize, kPage, PROT_NONE);
}

HandlerStacks::~HandlerStacks() {
  if (memory_ != nullptr) (void)::munmap(memory_, kCount * kSize);
}

void* HandlerStacks::take() noexcept {
  if (memory_ == nullptr) return nullptr;
  std::uint64_t used = used_.load(std::memory_order_relaxed);
  while (~used != 0) {
    const auto i = static_cast<unsigned>(std::countr_one(used));
    if (used_.compare_exchange_weak(used, used | std::uint64_t{1} << i, std::memory_order_acquire))
      return memory_ + (i + 1) * kSize;
  }
  return nullptr;
}

void HandlerStacks::give_back(void* end) noexcept {
  const auto i = static_cast<std::size_t>(static_cast<std::byte*>(end) - memory_) / kSize - 1;
  used_.fetch_and(~(std::uint64_t{1} << i), std::memory_order_release);
}

}  // namespace mixstack::agent
