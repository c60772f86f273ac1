// The position of users' steppers among the engine's own: one rule for walking and for reporting the order.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mixstack/stepper_chain.h"

namespace mixstack::walk {

inline constexpr std::array<std::string_view, 6> kOwnerNames{"cfi",       "managed",  "copied code",
                                                             "jit image", "pe image", "undescribed"};
inline constexpr std::array<std::string_view, 5> kFallbackNames{"newborn thread", "signal trampoline", "prologue",
                                                                "undescribed", "frame pointer"};

/// Both lists of a walk, with names. `T` represents a stepper.
template <class T>
struct ChainOrder {
  using List = std::vector<std::pair<std::string, T>>;
  List owners, fallbacks;
};

/// Adds users' steppers to a chain of the engine's own. `make` returns the representation of an addition.
template <class T, class Make>
void add_users(ChainOrder<T>& chain, const std::vector<StepperChain::Addition>& additions, Make make) {
  for (const StepperChain::Addition& a : additions) {
    const std::string name(a.stepper->name());
    if (!a.range.empty()) {
      chain.owners.emplace(chain.owners.begin(), name, make(a));
      continue;
    }
    if (a.before.empty()) {
      chain.owners.emplace_back(name, make(a));
      chain.fallbacks.emplace_back(name, make(a));
      continue;
    }
    const auto is_it = [&](const auto& entry) { return entry.first == a.before; };
    auto& owners = chain.owners;
    auto& fallbacks = chain.fallbacks;
    if (const auto at = std::find_if(owners.begin(), owners.end(), is_it); at != owners.end()) {
      owners.emplace(at, name, make(a));
    } else if (const auto f = std::find_if(fallbacks.begin(), fallbacks.end(), is_it); f != fallbacks.end()) {
      fallbacks.emplace(f, name, make(a));
    }
  }
}

}  // namespace mixstack::walk
