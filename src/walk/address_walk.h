// The code addresses of a stack that nobody but the engine is needed for: what samplers want of most stacks.
#pragma once

#include <optional>
#include <span>

#include "unwind/rule_step.h"
#include "walk_core/witness.h"

namespace mixstack::walk {

struct PlainWalk {
  std::size_t count = 0;
  bool is_cut = false;  ///< there are more
};

/// What `WalkCore` finds for this thread, if it decides nothing: every step by a rule of the engine, every checkpoint
/// met, the end told by unwind information. Nothing where anybody else would have to be asked, about any frame; then
/// the walk is to be done as a whole. The engine is bound to the runtime's rules; `marks` stand for all checkpoints, by
/// ascending address. At most `out.size()` addresses, innermost first. Allocates nothing.
[[nodiscard]] std::optional<PlainWalk> plain_addresses(unwind::RuleStepper& engine, const Registers& registers,
                                                       const StackView& stack, std::span<const Mark> marks,
                                                       std::span<CodeAddress> out);

}  // namespace mixstack::walk
