#include "output/report/page_template.h"

#include <array>

#include "output/report/base64.h"
#include "output/report/markup.h"
#include "output/report/page_data.h"

namespace mixstack::report {
namespace {

constexpr int kFileCompression = 6;

struct Filling {
  std::string_view mark;
  std::function<void(Writer&)> write;
};

/// The template with each mark replaced by what its filling writes.
template <std::size_t kSize>
void fill(Writer& out, std::string_view html, const std::array<Filling, kSize>& fillings) {
  while (!html.empty()) {
    const std::size_t at = html.find('@');
    out << html.substr(0, at);
    if (at == std::string_view::npos) return;
    html.remove_prefix(at);
    std::size_t used = 1;
    for (const Filling& filling : fillings) {
      if (!html.starts_with(filling.mark)) continue;
      filling.write(out);
      used = filling.mark.size();
    }
    if (used == 1) out << '@';
    html.remove_prefix(used);
  }
}

}  // namespace

std::string page_policy(const PageTemplate& page, bool live) {
  std::string text = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-";
  text.append(page.style_hash).append("'; script-src 'sha256-").append(page.script_hash).append("'");
  if (live) text += "; connect-src 'self'";
  return text;
}

void write_page_block(Writer& out, std::string_view id, std::string_view data) {
  out << "<script type=\"application/octet-stream\" id=\"" << id << "\">";
  write_base64(out, deflated(data, kFileCompression));
  out << "</script>\n";
}

void write_page(Writer& out, const PageTemplate& page, const PageFilling& filling) {
  fill(out, page.html,
       std::array<Filling, 6>{{{"@POLICY@", [&](Writer& w) { w << page_policy(page, filling.live); }},
                               {"@TITLE@", [&](Writer& w) { w << markup_text(filling.title); }},
                               {"@STYLE@", [&](Writer& w) { w << page.style; }},
                               {"@MODE@", [&](Writer& w) { w << (filling.live ? "live" : "file"); }},
                               {"@DATA@", filling.write_data},
                               {"@SCRIPT@", [&](Writer& w) { w << page.script; }}}});
}

}  // namespace mixstack::report
