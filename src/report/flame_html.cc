#include "report/flame_html.h"

#include <array>
#include <functional>

#include "report/base64.h"
#include "report/markup.h"
#include "report/page_data.h"
#include "report/page_template.h"

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

std::string policy(bool live) {
  const PageTemplate page = page_template();
  std::string text = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-";
  text.append(page.style_hash).append("'; script-src 'sha256-").append(page.script_hash).append("'");
  if (live) text += "; connect-src 'self'";
  return text;
}

void write_block(Writer& out, std::string_view id, const Recording& recording, std::string_view name,
                 const PageLook& look) {
  out << "<script type=\"application/octet-stream\" id=\"" << id << "\">";
  write_base64(out, deflated(page_data(recording, name, look), kFileCompression));
  out << "</script>\n";
}

void write_page(Writer& out, std::string_view title, bool live, const std::function<void(Writer&)>& write_data) {
  const PageTemplate page = page_template();
  fill(out, page.html,
       std::array<Filling, 6>{{{"@POLICY@", [&](Writer& w) { w << policy(live); }},
                               {"@TITLE@", [&](Writer& w) { w << markup_text(title); }},
                               {"@STYLE@", [&](Writer& w) { w << page.style; }},
                               {"@MODE@", [&](Writer& w) { w << (live ? "live" : "file"); }},
                               {"@DATA@", write_data},
                               {"@SCRIPT@", [&](Writer& w) { w << page.script; }}}});
}

}  // namespace

void write_flame_html(Writer& out, const Recording& recording, const Recording* before, const FlameOptions& options) {
  write_page(out, flame_title(recording, options), false, [&](Writer& data) {
    if (before != nullptr) write_block(data, "data-before", *before, options.before_name, options.before_look);
    write_block(data, "data-recording", recording, before != nullptr ? options.after_name : options.title,
                options.look);
  });
}

void write_live_page(Writer& out, std::string_view title) {
  write_page(out, title, true, [](Writer&) {});
}

std::string live_page_policy() { return policy(true) + "; frame-ancestors 'none'"; }

}  // namespace mixstack::report
