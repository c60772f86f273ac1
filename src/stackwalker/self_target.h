// Our own process as a Target: the calling thread.
#pragma once

#include <memory>

#include "mixstack/target.h"

namespace mixstack::stackwalker {

/// `capture` answers the thread that calls it, from `capture` itself outwards. Installs nothing, signals nobody. Errors
/// of `capture`: `unsupported` for any other thread.
[[nodiscard]] Result<std::unique_ptr<Target>> open_self_target();

}  // namespace mixstack::stackwalker
