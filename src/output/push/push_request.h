// Encodes a piece of a recording as one HTTP request to a profile store.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/words/recording_view.h"
#include "output/push/push_target.h"

namespace mixstack::push {

/// Name, labels and version that every profile of a run is sent with.
struct PushNames {
  std::string name{};  ///< of the application; `is_push_name`
  std::vector<PushLabel> labels{};
  std::string version{};  ///< of mixstack
};

struct PushRequest {
  std::string query{};  ///< already escaped; empty: none
  std::string body{};
  friend bool operator==(const PushRequest&, const PushRequest&) = default;
};

/// Nothing: the options select no sample of the piece. `id` identifies the profile (OTLP).
[[nodiscard]] std::optional<PushRequest> make_push_request(const PushTarget& target, const PushNames& names,
                                                           const Recording& piece, const ProfileOptions& options,
                                                           const std::array<std::uint8_t, 16>& id);
[[nodiscard]] std::string url_of(const PushTarget& target, const PushRequest& request);
/// "Content-Type: ...", as the protocol has them.
[[nodiscard]] std::vector<std::string> headers_of(PushProtocol protocol);
/// Whether the labels make a URL longer than servers take; then nothing can be sent.
[[nodiscard]] bool is_too_long(const PushTarget& target, const PushNames& names);

}  // namespace mixstack::push
