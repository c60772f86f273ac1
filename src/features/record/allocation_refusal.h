// Why allocations cannot be recorded, in words, with what would help.
#pragma once

#include <string>

#include "mixstack/result.h"

namespace mixstack::record {

/// One or two sentences about an error of AllocationSource::open.
[[nodiscard]] std::string why_no_allocations(const Error& error);

}  // namespace mixstack::record
