#include "agent/in_process/method_numbers.h"

#include <utility>

namespace mixstack::agent {

std::uint64_t MethodNumbers::number_of(std::uint64_t id, std::string name) {
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = numbers_.try_emplace(id, methods_.size() + 1);
  if (!is_new) return at->second;
  if (methods_.size() == kMost) {
    numbers_.erase(at);
    return 0;
  }
  methods_.push_back({id, std::move(name)});
  return at->second;
}

bool MethodNumbers::knows(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  return numbers_.contains(id);
}

std::uint64_t MethodNumbers::forget(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto at = numbers_.find(id);
  if (at == numbers_.end()) return 0;
  const std::uint64_t number = at->second;
  methods_[number - 1].id = 0;
  numbers_.erase(at);
  return number;
}

MethodNumbers::Method MethodNumbers::operator[](std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  return number == 0 || number > methods_.size() ? Method{} : methods_[number - 1];
}

std::size_t MethodNumbers::size() const {
  const std::lock_guard lock(mutex_);
  return methods_.size();
}

}  // namespace mixstack::agent
