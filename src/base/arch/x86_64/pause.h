// The instruction of spinning code on x86-64: pause.
#pragma once

#include "base/arch/pause.h"

namespace mixstack::arch::x86_64 {

/// Source: Intel SDM volume 2, PAUSE: f3 90.
[[nodiscard]] bool pauses(std::span<const std::byte> code);

}  // namespace mixstack::arch::x86_64
