// When, where and of what a moment is.
#pragma once

#include <vector>

#include "mixstack/memory_moment.h"
#include "mixstack/session.h"

namespace mixstack::memory_use {

/// `managed`: one for each runtime, with its version.
[[nodiscard]] MomentMark mark_of(Session& session, const std::vector<ManagedMemory>& managed);

}  // namespace mixstack::memory_use
