#include "agent/in_process/deep_stacks.h"

namespace mixstack::agent {

DeepStacks::DeepStacks() : pages_(kCount * sizeof(DeepStack), self_walk::ZeroedPages::Presence::lazy) {}

DeepStack* DeepStacks::take() noexcept {
  auto* const stacks = static_cast<DeepStack*>(pages_.get());
  for (std::size_t i = 0; stacks != nullptr && i < kCount; i++)
    if (!is_taken_[i].exchange(true, std::memory_order_acquire)) return &stacks[i];
  return nullptr;
}

void DeepStacks::give_back(const DeepStack* stack) noexcept {
  const auto at = static_cast<std::size_t>(stack - static_cast<const DeepStack*>(pages_.get()));
  if (stack != nullptr && at < kCount) is_taken_[at].store(false, std::memory_order_release);
}

}  // namespace mixstack::agent
