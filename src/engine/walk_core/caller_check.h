// Checks whether a caller's stack pointer is plausible.
#pragma once

#include "base/arch/cpu.h"
#include "mixstack/address.h"

namespace mixstack::walk {

/// Whether the caller's sp is above the callee's. It may be equal once, if the callee was interrupted: a leaf function
/// of a link-register CPU has no stack of its own, nor has code that was returned to (the stub of a suspension), which
/// only unwind information can know. Signal-safe.
[[nodiscard]] constexpr bool advances(Address callee_sp, Address caller_sp, bool callee_was_interrupted, Arch arch,
                                      bool is_described) {
  const bool may_stay = callee_was_interrupted && (is_described || arch::cpu(arch).has_link_register());
  return caller_sp > callee_sp || (caller_sp == callee_sp && may_stay);
}

}  // namespace mixstack::walk
