// How a method's debug information is packed.
#pragma once

#include <cstdint>

namespace mixstack::dotnet {

enum class DebugInfoForm : std::uint8_t {
  nibbles,  ///< .NET 8 and 9, images of ReadyToRun before version 16: each number by itself
  bits,     ///< .NET 10: rows of as many bits as the largest needs, behind flags where the JIT wrote them
  headers,  ///< .NET 11, images from version 17 on: a header of two or six sizes, another bit for the source of a row
};

}  // namespace mixstack::dotnet
