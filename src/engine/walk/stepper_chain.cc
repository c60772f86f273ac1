#include "mixstack/stepper_chain.h"

#include <algorithm>

#include "engine/walk/chain_order.h"

namespace mixstack {

void StepperChain::append(std::shared_ptr<FrameStepper> stepper) {
  if (stepper) additions_.push_back({{}, {}, std::move(stepper)});
}

bool StepperChain::insert_before(std::string_view name, std::shared_ptr<FrameStepper> stepper) {
  const auto is_named = [name](const std::string& other) { return other == name; };
  const auto names = order();
  if (!stepper || std::none_of(names.begin(), names.end(), is_named)) return false;
  additions_.push_back({std::string(name), {}, std::move(stepper)});
  return true;
}

void StepperChain::claim(AddressRange range, std::shared_ptr<FrameStepper> stepper) {
  if (stepper && !range.empty()) additions_.push_back({{}, range, std::move(stepper)});
}

bool StepperChain::remove(const FrameStepper& stepper) {
  return std::erase_if(additions_, [&](const Addition& a) { return a.stepper.get() == &stepper; }) != 0;
}

std::vector<std::string> StepperChain::order() const {
  walk::ChainOrder<std::string> chain;
  for (const std::string_view name : walk::kOwnerNames) chain.owners.emplace_back(name, std::string(name));
  for (const std::string_view name : walk::kFallbackNames) chain.fallbacks.emplace_back(name, std::string(name));
  walk::add_users(chain, additions_, [](const Addition& a) { return std::string(a.stepper->name()); });
  std::vector<std::string> names;
  for (const auto& list : {chain.owners, chain.fallbacks})
    for (const auto& [name, unused] : list) names.push_back(name);
  return names;
}

}  // namespace mixstack
