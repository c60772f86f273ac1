// Names of registers by DWARF number, as debuggers print them.
#pragma once

#include <string_view>

#include "mixstack/registers.h"

namespace mixstack::arch {

/// Empty for a number the CPU does not have.
[[nodiscard]] std::string_view register_name(Arch arch, unsigned reg);

}  // namespace mixstack::arch
