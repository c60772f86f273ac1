// A file of the spool: a request that could not be sent yet.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "output/push/push_request.h"

namespace mixstack::push {

struct SpoolEntry {
  PushTarget target;
  PushRequest request;
  friend bool operator==(const SpoolEntry&, const SpoolEntry&) = default;
};

/// The largest file of the spool: the largest body that is sent, and its head.
[[nodiscard]] std::size_t most_spooled_bytes();
/// A few lines of text (what it is, protocol, URL, query, how many bytes follow), then the body.
[[nodiscard]] std::string encode_spool_entry(const PushTarget& target, const PushRequest& request);
/// Nothing: not an entry, truncated, or with a field that this program would not have written. The caller decides
/// whether the target is one to send to.
[[nodiscard]] std::optional<SpoolEntry> decode_spool_entry(std::string_view bytes);

}  // namespace mixstack::push
