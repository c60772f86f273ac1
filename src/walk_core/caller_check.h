// Whether a caller's place makes sense.
#pragma once

#include "arch/cpu.h"
#include "mixstack/address.h"

namespace mixstack::walk {

/// The caller's sp lies above the callee's. It may be the same once, where the callee was interrupted: a leaf function
/// of a link-register CPU has no stack of its own, nor has code that was returned to (the stub of a suspension), which
/// unwind information alone can know. Signal-safe.
[[nodiscard]] constexpr bool advances(Address callee_sp, Address caller_sp, bool callee_was_interrupted, Arch arch,
                                      bool is_described) {
  const bool may_stay = callee_was_interrupted && (is_described || arch::cpu(arch).has_link_register());
  return caller_sp > callee_sp || (caller_sp == callee_sp && may_stay);
}

}  // namespace mixstack::walk
