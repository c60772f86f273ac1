// Linker symbols as a person writes them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace mixstack::symbols {

/// Longest linker symbol that is demangled, and longest result: a name of some hundred bytes can be made to expand to
/// gigabytes by substitutions that double.
inline constexpr std::size_t kMaxMangled = 16 << 10;
inline constexpr std::size_t kMaxDemangled = 16 << 10;

/// C++ (Itanium ABI) names with parameters; Rust's names, legacy and v0, without their hashes; D's. Anything else, or
/// what would be too long, comes back as it is. Not signal-safe; thread-safe.
[[nodiscard]] std::string demangle(std::string_view linker_name);

/// A name fit for terminals and JSON: control characters and bytes that are not UTF-8 as \xNN, cut at `limit` bytes.
[[nodiscard]] std::string printable(std::string_view name, std::size_t limit = kMaxDemangled);

}  // namespace mixstack::symbols
