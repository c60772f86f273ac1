#include "output/serve/http_request.h"

#include <algorithm>

#include "base/system/number.h"

namespace mixstack::serve {
namespace {

constexpr std::string_view kLineEnd = "\r\n";

bool printable(char c) { return c > 0x20 && c < 0x7f; }

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Takes the text before the next `end`, and `end` itself, away from `text`.
std::optional<std::string_view> next(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view part = text.substr(0, at);
  text.remove_prefix(at + end.size());
  return part;
}

bool parse_first_line(std::string_view line, HttpRequest& request) {
  const auto method = next(line, " "), target = next(line, " ");
  if (!method || !target || !line.starts_with("HTTP/1.") || line.size() != 8) return false;
  const bool clean =
      std::all_of(method->begin(), method->end(), printable) && std::all_of(target->begin(), target->end(), printable);
  if (!clean || method->empty() || !target->starts_with('/')) return false;
  const std::size_t question = target->find('?');
  request.method = *method;
  request.path = target->substr(0, question);
  if (question != std::string_view::npos) request.query = target->substr(question + 1);
  return true;
}

bool parse_field(std::string_view line, HttpRequest& request, bool& has_host) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  if (!std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(colon), printable)) return false;
  const std::string name = lower(line.substr(0, colon));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (name == "transfer-encoding" || (name == "content-length" && value != "0")) return false;
  if (name != "host") return true;
  if (has_host) return false;
  has_host = true;
  request.host = lower(value);
  return true;
}

}  // namespace

std::size_t head_size(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n\r\n");
  return end == std::string_view::npos ? 0 : end + 4;
}

std::optional<HttpRequest> parse_request(std::string_view head) {
  HttpRequest request;
  const auto first = next(head, kLineEnd);
  if (!first || !parse_first_line(*first, request)) return std::nullopt;
  bool has_host = false;
  while (const auto line = next(head, kLineEnd)) {
    if (line->empty()) return request;
    if (!parse_field(*line, request, has_host)) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> number_in(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (!part.starts_with(name) || part.substr(name.size(), 1) != "=") continue;
    const std::string_view digits = part.substr(name.size() + 1);
    return base::number<std::uint64_t>(digits);
  }
  return std::nullopt;
}

}  // namespace mixstack::serve
