// Names come from the target: made safe for a terminal and for JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mixstack::report {

/// One code point of hostile text. `valid` is false for a byte that is no UTF-8; `size` is then 1.
struct CodePoint {
  std::uint32_t value = 0;
  unsigned size = 1;
  bool valid = false;
};

/// The code point at the start of `text`, which is not empty. Overlong forms, surrogates and values above U+10FFFF are
/// not valid (Unicode 15, table 3-7).
[[nodiscard]] CodePoint first_code_point(std::string_view text);

/// For a terminal: control characters (C0, DEL, C1), line and paragraph separators and characters that change the
/// direction of text become \n, \xNN or \u{NNNN}; bytes that are no UTF-8 become \xNN; the rest stays.
[[nodiscard]] std::string escape_for_terminal(std::string_view text);

/// A JSON string with its quotation marks (RFC 8259, section 7); bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace mixstack::report
