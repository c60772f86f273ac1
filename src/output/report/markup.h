// Hostile text in HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace mixstack::report {

/// For the text of an element and for attributes in quotation marks: `escape_for_terminal`, then & < > " '. Code points
/// that XML 1.0 (section 2.2) forbids (U+FFFE, U+FFFF) become U+FFFD.
[[nodiscard]] std::string markup_text(std::string_view text);

}  // namespace mixstack::report
