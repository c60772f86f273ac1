// What lies where in a pack.
#pragma once

#include <cstdint>
#include <string_view>

namespace mixstack::pack {

/// By it a pack is known. One folder, so that a pack that somebody unpacks by hand makes no mess.
inline constexpr std::string_view kFolder = "mixstack-pack/";
/// First of all members.
inline constexpr std::string_view kManifest = "mixstack-pack/manifest.json";
inline constexpr std::string_view kCore = "mixstack-pack/core";
/// Files of the process by their full path: a folder for gdb's `set sysroot` and for `--sysroot`.
inline constexpr std::string_view kSysroot = "mixstack-pack/sysroot";
/// Of the manifest. A reader takes this one and all before.
inline constexpr std::uint32_t kVersion = 1;

}  // namespace mixstack::pack
