// Notes that mixstack writes into cores of its own: what the kernel's notes have no place for.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::process {

/// Owner of the notes (System V gABI, "note section"). Debuggers pass over owners that they do not know.
inline constexpr std::string_view kOwnNotes = "MIXSTACK";
inline constexpr std::uint32_t kMappingsNote = 1;  ///< all mappings, with rights; once
inline constexpr std::uint32_t kThreadNote = 2;    ///< behind the NT_PRSTATUS of its thread
inline constexpr std::uint32_t kLateNote = 3;      ///< there, too, of a thread that is of another instant than most

/// Facts of a thread beside its registers.
struct ThreadNote {
  ThreadId ns_tid = 0;
  char state = '?';
  std::int64_t syscall = -1;
  std::string comm;
  ThreadFacts facts;
};

/// When a thread was seen that did not stop with the others.
struct LateNote {
  std::chrono::nanoseconds late{0};  ///< after the common instant
  bool not_stopped = false;          ///< it was looked at without a stop
  friend bool operator==(const LateNote&, const LateNote&) = default;
};

/// All little-endian. Mappings: their number, then for each begin, end and offset (u64), device (two u32), flags (u32),
/// and the path with its size (u32) before it.
[[nodiscard]] std::vector<std::byte> encode_mappings(std::span<const Region> regions);
/// Nothing when it contradicts itself; at most 250,000 mappings, paths of at most 4096 bytes. In the order written.
[[nodiscard]] std::optional<std::vector<Region>> decode_mappings(std::span<const std::byte> note);

[[nodiscard]] std::vector<std::byte> encode_thread(const ThreadNote& thread);
[[nodiscard]] std::optional<ThreadNote> decode_thread(std::span<const std::byte> note);

[[nodiscard]] std::vector<std::byte> encode_late(const LateNote& late);
/// Nothing when it is no time after the common instant.
[[nodiscard]] std::optional<LateNote> decode_late(std::span<const std::byte> note);

}  // namespace mixstack::process
