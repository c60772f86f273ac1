// The compressed list behind known_runtimes.h, made by scripts/known_runtimes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace mixstack::dotnet {

[[nodiscard]] std::span<const std::uint8_t> packed_known_runtimes();

}  // namespace mixstack::dotnet
