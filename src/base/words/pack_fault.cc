#include "base/words/pack_fault.h"

namespace mixstack::words {
namespace {

constexpr std::uint64_t kMark = 0x5041'434b'0000'0000;  // "PACK"

}  // namespace

Error error_of(PackFault fault) { return {ErrorCode::malformed, 0, kMark + static_cast<std::uint64_t>(fault)}; }

std::optional<PackFault> pack_fault_of(const Error& error) {
  if (error.code != ErrorCode::malformed || error.value < kMark) return std::nullopt;
  if (error.value - kMark > static_cast<std::uint64_t>(PackFault::newer_version)) return std::nullopt;
  return static_cast<PackFault>(error.value - kMark);
}

std::string_view name_of(PackFault fault) {
  switch (fault) {
    case PackFault::damaged_archive:
      return "pack_damaged";
    case PackFault::unsafe_path:
      return "pack_with_unsafe_path";
    case PackFault::not_a_file:
      return "pack_with_no_file";
    case PackFault::too_many_members:
      return "pack_with_too_many_files";
    case PackFault::no_core:
      return "pack_without_core";
    case PackFault::two_cores:
      return "pack_with_two_cores";
    case PackFault::bad_manifest:
      return "pack_without_manifest";
    case PackFault::newer_version:
      return "newer_pack";
  }
  return "pack_damaged";
}

std::string_view words_of(PackFault fault) {
  switch (fault) {
    case PackFault::damaged_archive:
      return "its archive is damaged";
    case PackFault::unsafe_path:
      return "a path in it is absolute or leads out of it";
    case PackFault::not_a_file:
      return "it holds a link or a device, which a pack never does";
    case PackFault::too_many_members:
      return "it holds more files than a pack may have";
    case PackFault::no_core:
      return "there is no core in it";
    case PackFault::two_cores:
      return "something in it is there twice";
    case PackFault::bad_manifest:
      return "its manifest cannot be read";
    case PackFault::newer_version:
      return "a later version of mixstack made it";
  }
  return "it is damaged";
}

}  // namespace mixstack::words
