// A capture as bytes, from a process to its copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::process {

/// Both ends are the same program at the same addresses, so plain structs are sent as they are.
[[nodiscard]] std::vector<std::byte> to_wire(const Result<Capture>& capture);
/// `malformed` when bytes are missing; else what was sent, error or capture. The slices point into `bytes`.
[[nodiscard]] Result<Capture> from_wire(std::unique_ptr<std::byte[]> bytes, std::size_t size);

}  // namespace mixstack::process
