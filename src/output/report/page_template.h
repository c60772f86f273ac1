// Pages of `web/`, as the build put them in (`cmake/embed_page.cmake`), and how they are filled.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "output/report/writer.h"

namespace mixstack::report {

struct PageTemplate {
  std::string_view html;    ///< with marks @LIKE_THIS@ where the other parts and a recording go
  std::string_view style;   ///< CSS
  std::string_view script;  ///< JavaScript
  /// Base 64 of SHA-256 of the two, for the policy that lets the browser run nothing else.
  std::string_view style_hash, script_hash;
};

/// The viewer of recordings.
[[nodiscard]] PageTemplate page_template();
/// The answer of `mixstack why`.
[[nodiscard]] PageTemplate why_template();
/// The answer of `mixstack memory`.
[[nodiscard]] PageTemplate memory_template();

struct PageFilling {
  std::string_view title;
  bool live = false;  ///< may ask the server that it comes from
  std::function<void(Writer&)> write_data;
};
void write_page(Writer& out, const PageTemplate& page, const PageFilling& filling);
/// The Content-Security-Policy of such a page.
[[nodiscard]] std::string page_policy(const PageTemplate& page, bool live);
/// Data of a page, compressed and in base 64, for a script to find by `id`.
void write_page_block(Writer& out, std::string_view id, std::string_view data);

}  // namespace mixstack::report
