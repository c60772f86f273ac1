// Manglings of other languages than C++: Rust's v0 names and D, by libiberty.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mixstack::symbols {

/// Nothing when it is no such name, or its text would be too long. Rust names are without the hashes of crates.
[[nodiscard]] std::optional<std::string> demangle_rust_v0(std::string_view linker_name);
/// D names are with parameters.
[[nodiscard]] std::optional<std::string> demangle_d(std::string_view linker_name);

}  // namespace mixstack::symbols
