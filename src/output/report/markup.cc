#include "output/report/markup.h"

#include "output/report/escape.h"

namespace mixstack::report {
namespace {

std::string_view replacement(const CodePoint& c) {
  switch (c.value) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    case 0xfffe:
    case 0xffff:
      return "\xef\xbf\xbd";
    default:
      return {};
  }
}

}  // namespace

std::string markup_text(std::string_view text) {
  const std::string safe = escape_for_terminal(text);
  std::string out;
  std::string_view rest = safe;
  while (!rest.empty()) {
    const CodePoint c = first_code_point(rest);
    const std::string_view instead = replacement(c);
    out += instead.empty() ? rest.substr(0, c.size) : instead;
    rest.remove_prefix(c.size);
  }
  return out;
}

}  // namespace mixstack::report
