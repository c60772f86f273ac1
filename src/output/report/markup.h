// Hostile text in HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace mixstack::report {

/// For the text of an element and for attributes in quotation marks: `escape_for_terminal`, then & < > " '. What
/// XML 1.0 (section 2.2) has no place for (U+FFFE, U+FFFF) becomes U+FFFD.
[[nodiscard]] std::string markup_text(std::string_view text);

}  // namespace mixstack::report
