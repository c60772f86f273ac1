// The code addresses of a stack that the engine can walk alone, as samplers want for most stacks.
#pragma once

#include <optional>
#include <span>

#include "engine/unwind/rule_step.h"
#include "engine/walk_core/witness.h"

namespace mixstack::walk {

struct PlainWalk {
  std::size_t count = 0;
  bool is_cut = false;  ///< there are more
};

/// The addresses that `WalkCore` would find for this thread, if it had nothing to decide: every step is by a rule of
/// the engine, every checkpoint is met, and unwind information ends the stack. Nothing: some frame needs another
/// stepper; then walk the thread as a whole. The engine is bound to the runtime's rules; `marks` stand for all
/// checkpoints, by ascending address. At most `out.size()` addresses, innermost first. Allocates nothing.
[[nodiscard]] std::optional<PlainWalk> plain_addresses(unwind::RuleStepper& engine, const Registers& registers,
                                                       const StackView& stack, std::span<const Mark> marks,
                                                       std::span<CodeAddress> out);

}  // namespace mixstack::walk
