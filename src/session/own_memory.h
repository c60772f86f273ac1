// How much memory we may take ourselves.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace mixstack::session {

/// Limits of our memory, in bytes; nothing: no limit, or not known.
struct OwnLimits {
  std::optional<std::uint64_t> machine{};        ///< MemAvailable of /proc/meminfo
  std::optional<std::uint64_t> cgroup{};         ///< what the tightest cgroup has left
  std::optional<std::uint64_t> address_space{};  ///< what RLIMIT_AS (ulimit -v) has left
};

/// Half of what the tightest limit has left; 512 MiB where none is known.
[[nodiscard]] std::uint64_t memory_to_take(const OwnLimits& limits);
/// The same of this process, now.
[[nodiscard]] std::uint64_t memory_to_take();
/// "MemAvailable:   123 kB" in bytes.
[[nodiscard]] std::optional<std::uint64_t> available_in(std::string_view meminfo);

}  // namespace mixstack::session
