#include "output/push/push_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "output/report/escape.h"

namespace mixstack::push {
namespace {

constexpr std::size_t kMostUrl = 1024, kMostLabelName = 64, kMostLabelValue = 256, kMostName = 128;
constexpr std::size_t kMostHeaders = 32, kMostHeader = 4096;

bool is_alphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

bool all_of(std::string_view text, std::string_view others) {
  return std::all_of(text.begin(), text.end(),
                     [others](char c) { return is_alphanumeric(c) || others.find(c) != std::string_view::npos; });
}

std::string lower(std::string_view text) {
  std::string copy(text);
  std::transform(copy.begin(), copy.end(), copy.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return copy;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

/// "host", "host:4040", "[::1]:4040"
bool is_authority(std::string_view text) {
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos || end < 3 || !all_of(text.substr(1, end - 1), ":.")) return false;
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
    if (const std::string_view host = text.substr(0, colon); host.empty() || !all_of(host, ".-_")) return false;
  }
  if (port.empty()) return true;
  if (port.front() != ':') return false;
  port.remove_prefix(1);
  return !port.empty() && port.size() <= 5 &&
         std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; }) &&
         std::stoul(std::string(port)) <= UINT16_MAX;
}

/// Appends the protocol's own path, if it is not there already.
std::string whole_path(PushProtocol protocol, std::string_view path) {
  while (path.ends_with('/')) path.remove_suffix(1);
  const bool is_otlp = protocol == PushProtocol::otlp;
  if (path.ends_with(is_otlp ? "/profiles" : "/ingest")) return std::string(path);
  return std::string(path) + (is_otlp ? "/v1development/profiles" : "/ingest");
}

/// Headers that every request has anyway, or that decide how the body is read: the user cannot set them.
constexpr std::array<std::string_view, 8> kOurHeaders = {
    "content-type", "content-length", "content-encoding", "host", "connection", "transfer-encoding", "expect", "te"};

std::string fault_of_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  if (colon == std::string_view::npos || name.empty() || !all_of(name, "!#$%&'*+-.^_`|~"))
    return "is no header like 'Authorization: Bearer ...'";
  if (std::any_of(line.begin(), line.end(), is_control)) return "has a control character";
  if (line.size() > kMostHeader) return fmt::format("has more than {} characters", kMostHeader);
  if (std::find(kOurHeaders.begin(), kOurHeaders.end(), lower(name)) != kOurHeaders.end())
    return fmt::format("is for {}, which mixstack sends itself", name);
  return trimmed(line.substr(colon + 1)).empty() ? "has no value" : "";
}

}  // namespace

std::string_view word_of(PushProtocol protocol) { return protocol == PushProtocol::otlp ? "otlp" : "pyroscope"; }

tl::expected<PushTarget, std::string> parse_push_target(std::string_view text) {
  const auto wrong = [text](std::string_view why) {
    return tl::unexpected(fmt::format("'{}': {}", report::escape_for_terminal(text.substr(0, kMostUrl)), why));
  };
  if (text.size() > kMostUrl) return wrong(fmt::format("a URL has at most {} characters here", kMostUrl));
  PushTarget target;
  std::string_view url = text;
  if (url.starts_with("otlp+")) {
    target.protocol = PushProtocol::otlp;
    url.remove_prefix(5);
  } else if (url.starts_with("pyroscope+")) {
    url.remove_prefix(10);
  }
  const std::size_t scheme = url.starts_with("http://") ? 7 : url.starts_with("https://") ? 8 : 0;
  if (scheme == 0)
    return wrong("is no http://, https://, pyroscope+http(s):// or otlp+http(s):// URL, like http://localhost:4040");
  std::string_view rest = url.substr(scheme);
  if (rest.find('@') != std::string_view::npos)
    return wrong("a user or password in a URL is not used: --push-header-file or MIXSTACK_PUSH_TOKEN");
  if (rest.find_first_of("?#") != std::string_view::npos)
    return wrong("a query is not used: the protocol makes its own");
  const std::size_t slash = std::min(rest.find('/'), rest.size());
  if (!is_authority(rest.substr(0, slash))) return wrong("has no host, or one with characters that no host has");
  if (!all_of(rest.substr(slash), "/._~-%+")) return wrong("has characters in its path that no URL has");
  target.url = fmt::format("{}{}{}", url.substr(0, scheme), rest.substr(0, slash),
                           whole_path(target.protocol, rest.substr(slash)));
  return target;
}

bool is_open_to_others(const PushTarget& target) {
  if (!target.url.starts_with("http://")) return false;
  const std::string_view rest = std::string_view(target.url).substr(7);
  if (rest.starts_with("[::1]")) return false;
  const std::string_view host = rest.substr(0, rest.find_first_of(":/"));
  return host != "localhost" && !host.starts_with("127.");
}

tl::expected<PushLabel, std::string> parse_push_label(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string shown = report::escape_for_terminal(text.substr(0, kMostLabelValue));
  const std::string_view name = text.substr(0, equals);
  if (equals == std::string_view::npos || name.empty()) return tl::unexpected("'" + shown + "' is no NAME=VALUE");
  if (name.size() > kMostLabelName || !all_of(name, "_.") || name == "__name__")
    return tl::unexpected("'" + shown + "': a label's name has letters, digits, _ and . only, and at most 64 of them");
  const std::string_view value = text.substr(equals + 1);
  if (value.empty() || value.size() > kMostLabelValue || value.find_first_of(",{}") != std::string_view::npos ||
      std::any_of(value.begin(), value.end(), is_control))
    return tl::unexpected("'" + shown +
                          "': a label's value has 1 to 256 bytes, none of them , { } or a control character");
  return PushLabel{std::string(name), std::string(value)};
}

bool is_push_name(std::string_view name) { return !name.empty() && name.size() <= kMostName && all_of(name, "_.-/"); }

std::string push_name_of(std::string_view command) {
  std::string name(command.substr(0, kMostName));
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !all_of(std::string_view(&c, 1), "_.-/"); }, '_');
  return name.empty() ? "process" : name;
}

tl::expected<std::vector<std::string>, std::string> parse_push_headers(std::string_view text) {
  std::vector<std::string> headers;
  unsigned number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    number++;
    if (line.empty() || line.starts_with('#')) continue;
    // The message does not quote the line: it may hold a secret.
    if (const std::string fault = fault_of_header(line); !fault.empty())
      return tl::unexpected(fmt::format("line {} {}", number, fault));
    if (headers.size() == kMostHeaders) return tl::unexpected(fmt::format("more than {} headers", kMostHeaders));
    headers.emplace_back(line);
  }
  return headers;
}

}  // namespace mixstack::push
