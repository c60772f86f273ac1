// Rust's legacy symbols: C++ nested names that end in a hash, with punctuation spelled out.
#pragma once

#include <string>
#include <string_view>

namespace mixstack::symbols {

/// "..17h" + 16 hex digits + "E" (rustc's legacy symbol mangling).
[[nodiscard]] bool is_rust_legacy(std::string_view linker_name);
/// From the C++ demangler's text: the hash dropped, "$LT$" and the like replaced, ".." as "::".
[[nodiscard]] std::string rust_legacy_text(std::string cpp_text);

}  // namespace mixstack::symbols
