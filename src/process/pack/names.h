// Paths inside a pack.
#pragma once

#include <cstdint>
#include <string_view>

namespace mixstack::pack {

/// Identifies a pack. All members lie in one folder, so that unpacking by hand makes no mess.
inline constexpr std::string_view kFolder = "mixstack-pack/";
/// The first member.
inline constexpr std::string_view kManifest = "mixstack-pack/manifest.json";
inline constexpr std::string_view kCore = "mixstack-pack/core";
/// Files of the process by their full path: a folder for gdb's `set sysroot` and for `--sysroot`.
inline constexpr std::string_view kSysroot = "mixstack-pack/sysroot";
/// The version of the manifest's format. A reader accepts this one and all earlier ones.
inline constexpr std::uint32_t kVersion = 1;

}  // namespace mixstack::pack
