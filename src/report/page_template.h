// The viewer page of `web/`, as the build put it in (`cmake/embed_page.cmake`).
#pragma once

#include <string_view>

namespace mixstack::report {

struct PageTemplate {
  std::string_view html;    ///< with marks @LIKE_THIS@ where the other parts and a recording go
  std::string_view style;   ///< CSS
  std::string_view script;  ///< JavaScript
  /// Base 64 of SHA-256 of the two, for the policy that lets the browser run nothing else.
  std::string_view style_hash, script_hash;
};

[[nodiscard]] PageTemplate page_template();

}  // namespace mixstack::report
