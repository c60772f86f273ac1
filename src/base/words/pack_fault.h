// The faults of a pack, as a number inside an Error and in words.
#pragma once

#include <optional>
#include <string_view>

#include "mixstack/result.h"

namespace mixstack::words {

/// Why a file that begins like a pack of `mixstack pack` cannot be read.
enum class PackFault : std::uint8_t {
  damaged_archive,   ///< a tar header contradicts itself
  unsafe_path,       ///< an absolute path, or one that leads out of the pack
  not_a_file,        ///< a link, a device, a FIFO
  too_many_members,  ///< more than a pack may have
  no_core,
  two_cores,
  bad_manifest,   ///< not JSON, or a required member is missing
  newer_version,  ///< made by a later mixstack
};

/// `malformed`, with a value that no other error of a core uses.
[[nodiscard]] Error error_of(PackFault fault);
/// Nothing for any other error.
[[nodiscard]] std::optional<PackFault> pack_fault_of(const Error& error);
/// For programs: "pack_without_core".
[[nodiscard]] std::string_view name_of(PackFault fault);
[[nodiscard]] std::string_view words_of(PackFault fault);

}  // namespace mixstack::words
