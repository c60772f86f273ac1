// The registers that getcontext(3) saves.
#pragma once

#include <ucontext.h>

#include "mixstack/registers.h"

namespace mixstack::stackwalker {

/// pc, sp and all callee-saved registers, as they are behind the call of getcontext.
[[nodiscard]] Registers registers_of(const ucontext_t& context);

}  // namespace mixstack::stackwalker
