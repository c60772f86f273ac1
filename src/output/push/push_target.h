// Parses the URL, labels, names and headers of --push, as users write them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace mixstack::push {

enum class PushProtocol : std::uint8_t {
  pyroscope,  ///< POST /ingest of Grafana Pyroscope, with a pprof profile
  otlp,       ///< OpenTelemetry's profiles over HTTP
};
inline constexpr PushProtocol kLastPushProtocol = PushProtocol::otlp;
/// "pyroscope", "otlp".
[[nodiscard]] std::string_view word_of(PushProtocol);

struct PushTarget {
  PushProtocol protocol = PushProtocol::pyroscope;
  std::string url;  ///< of the POST, without a query: "http://host:4040/ingest"
  friend bool operator==(const PushTarget&, const PushTarget&) = default;
};

/// `http://HOST:PORT` and `pyroscope+http://...` for Pyroscope, `otlp+http://...` for OTLP, all with https, too. A path
/// is a prefix of the protocol's own, /ingest or /v1development/profiles; one that ends like it (with /profiles, of
/// OTLP) is taken as it is. The error is a sentence: a URL with a user or password, a query, or characters that are
/// none of a URL.
[[nodiscard]] tl::expected<PushTarget, std::string> parse_push_target(std::string_view text);
/// Whether profiles go unencrypted over a network: plain http to a host other than this one.
[[nodiscard]] bool is_open_to_others(const PushTarget& target);

/// A label that profiles are found by in a store.
struct PushLabel {
  std::string name, value;
  friend bool operator==(const PushLabel&, const PushLabel&) = default;
};
/// "env=prod": a name of letters, digits, _ and . (Pyroscope's rule), at most 64 of them; a value of at most 256 bytes
/// without control characters and , { }. The error is a sentence.
[[nodiscard]] tl::expected<PushLabel, std::string> parse_push_label(std::string_view text);

/// Whether it may be the name of an application: letters, digits and _ . - /, at most 128.
[[nodiscard]] bool is_push_name(std::string_view name);
/// The nearest such to the name of a command: "my app" becomes "my_app".
[[nodiscard]] std::string push_name_of(std::string_view command);

/// Lines "Name: value" of a file, without empty lines and those that begin with #. The error is a sentence: a line that
/// is no header, control characters, a header that mixstack sets itself (Content-Type, Host, ...), more than 32.
[[nodiscard]] tl::expected<std::vector<std::string>, std::string> parse_push_headers(std::string_view text);

}  // namespace mixstack::push
