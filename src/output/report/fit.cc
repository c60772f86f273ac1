#include "output/report/fit.h"

#include <algorithm>

namespace mixstack::report {
namespace {

constexpr std::string_view kEllipsis = "…";
constexpr std::size_t kShortestName = 16;

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

/// The first `count` code points.
std::string_view first_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; at < text.size(); at++)
    if (!continues(text[at]) && count-- == 0) break;
  return text.substr(0, at);
}

std::string_view last_of(std::string_view text, std::size_t count) {
  const std::size_t all = columns(text);
  return count >= all ? text : text.substr(first_of(text, all - count).size());
}

/// "  (place)" and "  at file:line" with their separators.
std::size_t total(const FrameWords& words) {
  std::size_t sum = columns(words.name);
  if (!words.place.empty()) sum += 4 + columns(words.place);
  if (!words.file.empty()) sum += 5 + columns(words.file) + columns(words.line);
  return sum;
}

}  // namespace

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string cut_to(std::string text, std::size_t most) {
  while (columns(text) > most && !text.empty()) {
    do {
      text.pop_back();
    } while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0u) == 0x80u);
  }
  return text;
}

std::string shorten_middle(std::string_view text, std::size_t most) {
  if (columns(text) <= most) return std::string(text);
  if (most < 2) return std::string(kEllipsis.substr(0, most == 0 ? 0 : kEllipsis.size()));
  // The end tells more: the method, the file.
  const std::size_t front = (most - 1) / 3;
  return std::string(first_of(text, front)).append(kEllipsis).append(last_of(text, most - 1 - front));
}

std::string without_contents(std::string_view name, char open, char close) {
  std::string out;
  std::size_t depth = 0, begin = 0;
  for (std::size_t i = 0; i < name.size(); i++) {
    if (name[i] == open && depth++ == 0) begin = i;
    if (depth == 0) out += name[i];
    if (name[i] != close || depth == 0 || --depth > 0) continue;
    out += open;
    if (i > begin + 1) out += kEllipsis;
    out += close;
  }
  // A pair that does not end stays as it is.
  return depth == 0 ? out : std::string(name);
}

void fit(FrameWords& words, std::size_t fixed, std::size_t width) {
  if (width == 0) return;
  const std::size_t room = width > fixed + kShortestName ? width - fixed : kShortestName;
  if (total(words) <= room) return;
  words.file.erase(0, words.file.rfind('/') + 1);
  if (total(words) <= room) return;
  words.name = without_contents(words.name, '(', ')');
  if (total(words) <= room) return;
  words.place.clear();
  if (total(words) <= room) return;
  words.name = without_contents(words.name, '<', '>');
  const std::size_t others = total(words) - columns(words.name);
  words.name = shorten_middle(words.name, room > others + kShortestName ? room - others : kShortestName);
}

}  // namespace mixstack::report
