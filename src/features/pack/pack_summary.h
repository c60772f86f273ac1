// The contents of a pack in words.
#pragma once

#include <string>

#include "mixstack/pack.h"

namespace mixstack::packing {

/// Lines for the sender: sizes, what is missing, what is still in it, whether it reads back as the dump. `out`: the
/// file; "-": standard output. `asked_full`: the whole core was wanted.
[[nodiscard]] std::string summary_text(const PackSummary& summary, const std::string& out, bool asked_full);

}  // namespace mixstack::packing
