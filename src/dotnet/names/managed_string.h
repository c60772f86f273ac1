// Strings of the target as printable UTF-8.
#pragma once

#include <span>
#include <string>

#include "dotnet/contracts/runtime_memory.h"
#include "dotnet/names/bounded_text.h"

namespace mixstack::dotnet::names {

/// UTF-16LE to UTF-8. Lone surrogates become \u{dXXX}. Not yet made printable.
[[nodiscard]] std::string utf16_to_utf8(std::span<const char16_t> units);

/// A NUL-terminated UTF-16 string, printable, cut after `limit` units (with the cut mark).
[[nodiscard]] Result<std::string> read_wide_string(const MemoryReader& memory, Address address, std::size_t limit);

/// A System.String object: printable UTF-8, cut after `limit` UTF-16 units (with the cut mark). A negative or absurd
/// length is `malformed`. Null reference (0) is `not_found`.
[[nodiscard]] Result<std::string> read_managed_string(const RuntimeMemory& memory, Address object, std::size_t limit);

}  // namespace mixstack::dotnet::names
