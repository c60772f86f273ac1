#include "output/push/push_request.h"

#include <fmt/format.h>

#include <algorithm>

#include "output/formats/otlp.h"
#include "output/formats/pprof.h"
#include "output/report/writer.h"

namespace mixstack::push {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::size_t kMostUrl = 3500;  // of the 4096 that are sent; dates and rates are short

/// RFC 3986: all but its unreserved characters.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
                          c == '.' || c == '_' || c == '~';
    is_plain ? out += c : out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// "app{env=prod,hostname=web1}"
std::string pyroscope_name(const PushNames& names, std::string_view host) {
  std::string labels;
  const auto add = [&labels](std::string_view name, std::string_view value) {
    labels += fmt::format("{}{}={}", labels.empty() ? "" : ",", name, value);
  };
  bool has_host = false;
  for (const PushLabel& label : names.labels) {
    add(label.name, label.value);
    has_host = has_host || label.name == "hostname";
  }
  if (!has_host && parse_push_label(fmt::format("hostname={}", host))) add("hostname", host);
  return labels.empty() ? names.name : fmt::format("{}{{{}}}", names.name, labels);
}

/// Times as documented, in seconds: the profile itself has them in nanoseconds.
std::string pyroscope_query(const PushNames& names, const RecordingFacts& facts) {
  const std::uint64_t until = facts.started_unix_ns + facts.duration_ns;
  return fmt::format("name={}&from={}&until={}&format=pprof&sampleRate={}&spyName=mixstack",
                     escaped(pyroscope_name(names, facts.host)), facts.started_unix_ns / kSecond,
                     until / kSecond + (until % kSecond != 0 ? 1 : 0), std::max(facts.cpu_hertz, facts.wall_hertz));
}

formats::OtlpOptions otlp_options(const PushNames& names, const std::array<std::uint8_t, 16>& id) {
  formats::OtlpOptions otlp{.version = names.version, .id = id};
  for (const PushLabel& label : names.labels) otlp.resource.emplace_back(label.name, label.value);
  otlp.resource.emplace_back("service.name", names.name);
  return otlp;
}

}  // namespace

std::optional<PushRequest> make_push_request(const PushTarget& target, const PushNames& names, const Recording& piece,
                                             const ProfileOptions& options, const std::array<std::uint8_t, 16>& id) {
  ProfileOptions all = options;
  all.every_clock = !options.clock;
  if (view_of(piece, all).shown == 0) return std::nullopt;
  PushRequest request;
  if (target.protocol == PushProtocol::pyroscope) request.query = pyroscope_query(names, piece.facts);
  request.body = report::collect([&](report::Writer& out) {
    if (target.protocol == PushProtocol::pyroscope) {
      formats::write_pprof(out, piece, options);
    } else {
      formats::write_otlp(out, piece, options, otlp_options(names, id));
    }
  });
  return request;
}

std::string url_of(const PushTarget& target, const PushRequest& request) {
  return request.query.empty() ? target.url : target.url + "?" + request.query;
}

std::vector<std::string> headers_of(PushProtocol protocol) {
  // A pprof profile is itself gzip data; OTLP compresses the request instead, and says so in a header.
  if (protocol == PushProtocol::pyroscope) return {"Content-Type: application/octet-stream"};
  return {"Content-Type: application/x-protobuf", "Content-Encoding: gzip"};
}

bool is_too_long(const PushTarget& target, const PushNames& names) {
  return target.url.size() + pyroscope_query(names, {.host = std::string(64, 'x')}).size() > kMostUrl;
}

}  // namespace mixstack::push
