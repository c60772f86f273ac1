#include "output/push/spool_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "helpers/fetch_protocol/protocol.h"

namespace mixstack::push {
namespace {

constexpr std::string_view kMagic = "mixstack push 1";
constexpr std::size_t kMostHead = 8192;

/// Takes the next line of `bytes`, which must begin with `word`. Nothing: it does not, or is too long.
std::optional<std::string_view> line_of(std::string_view& bytes, std::string_view word) {
  const std::size_t end = bytes.substr(0, kMostHead).find('\n');
  if (end == std::string_view::npos || !bytes.starts_with(word)) return std::nullopt;
  const std::string_view line = bytes.substr(word.size(), end - std::min(end, word.size()));
  bytes.remove_prefix(end + 1);
  return line;
}

/// Only characters that our own queries have: none that ends a line, begins another part of a URL, or is not ASCII.
bool is_query(std::string_view text) {
  return text.size() <= fetch_link::kMostUrlBytes && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  std::string_view("-._~%=&").find(c) != std::string_view::npos;
         });
}

std::optional<PushTarget> target_of(std::string_view protocol, std::string_view url) {
  for (const PushProtocol p : {PushProtocol::pyroscope, PushProtocol::otlp}) {
    if (word_of(p) != protocol) continue;
    const auto target = parse_push_target(fmt::format("{}+{}", protocol, url));
    if (target && target->url == url) return *target;
  }
  return std::nullopt;
}

}  // namespace

std::size_t most_spooled_bytes() { return fetch_link::kMostBodyBytes + kMostHead; }

std::string encode_spool_entry(const PushTarget& target, const PushRequest& request) {
  return fmt::format("{}\nprotocol {}\nurl {}\nquery {}\nbody {}\n", kMagic, word_of(target.protocol), target.url,
                     request.query, request.body.size()) +
         request.body;
}

std::optional<SpoolEntry> decode_spool_entry(std::string_view bytes) {
  if (bytes.size() > most_spooled_bytes()) return std::nullopt;
  const auto magic = line_of(bytes, kMagic);
  if (!magic || !magic->empty()) return std::nullopt;
  const auto protocol = line_of(bytes, "protocol ");
  const auto url = protocol ? line_of(bytes, "url ") : std::nullopt;
  const auto query = url ? line_of(bytes, "query ") : std::nullopt;
  const auto body = query ? line_of(bytes, "body ") : std::nullopt;
  if (!body || !is_query(*query)) return std::nullopt;
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(body->data(), body->data() + body->size(), size);
  if (error != std::errc() || end != body->data() + body->size() || size != bytes.size()) return std::nullopt;
  auto target = target_of(*protocol, *url);
  if (!target) return std::nullopt;
  return SpoolEntry{std::move(*target), {std::string(*query), std::string(bytes)}};
}

}  // namespace mixstack::push
