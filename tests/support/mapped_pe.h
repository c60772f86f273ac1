// A PE file laid out as the loader would map it, and where the installed .NET framework is. For tests only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/system/byte_cursor.h"

namespace mixstack::test {

struct MappedPe {
  std::vector<std::byte> image;  ///< index = RVA
  std::uint32_t exception_rva = 0;
  std::uint32_t exception_size = 0;
};

/// Whole file, or empty.
inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

/// Maps a PE32+ file. Trusts it to be well-formed up to its bounds.
inline std::optional<MappedPe> map_pe(const std::filesystem::path& path) {
  const auto file = read_file(path);
  const std::span<const std::byte> bytes(file);
  const auto pe = base::load_at<std::uint32_t>(bytes, 0x3c);
  if (!pe) return std::nullopt;
  const auto sections = base::load_at<std::uint16_t>(bytes, *pe + 6).value_or(0);
  const auto optional_size = base::load_at<std::uint16_t>(bytes, *pe + 20).value_or(0);
  MappedPe mapped;
  // Data directory 3 of PE32+, "Exception Table".
  mapped.exception_rva = base::load_at<std::uint32_t>(bytes, *pe + 24 + 112 + 24).value_or(0);
  mapped.exception_size = base::load_at<std::uint32_t>(bytes, *pe + 24 + 112 + 28).value_or(0);
  for (unsigned i = 0; i < sections; i++) {
    base::ByteCursor header(bytes, *pe + 24 + optional_size + 40 * i + 8);
    const auto virtual_size = header.u32();
    const auto rva = header.u32();
    const auto raw_size = header.u32();
    const auto raw = header.u32();
    if (!header.ok() || std::size_t{raw} + raw_size > file.size()) return std::nullopt;
    const std::size_t end = std::size_t{rva} + std::max(virtual_size, raw_size);
    if (mapped.image.size() < end) mapped.image.resize(end);
    std::copy_n(file.begin() + raw, raw_size, mapped.image.begin() + rva);
  }
  if (mapped.image.empty()) return std::nullopt;
  return mapped;
}

/// A file of the installed Microsoft.NETCore.App, newest version, or an empty path.
inline std::filesystem::path framework_file(const std::string& name) {
  std::vector<std::filesystem::path> roots;
  if (const char* root = std::getenv("DOTNET_ROOT")) roots.emplace_back(root);
  for (const char* root : {"/usr/share/dotnet", "/usr/lib/dotnet", "/usr/local/share/dotnet"}) roots.emplace_back(root);
  std::filesystem::path best;
  for (const auto& root : roots) {
    std::error_code ignored;
    for (const auto& version :
         std::filesystem::directory_iterator(root / "shared" / "Microsoft.NETCore.App", ignored)) {
      const auto file = version.path() / name;
      if (std::filesystem::exists(file, ignored) && file > best) best = file;
    }
    if (!best.empty()) return best;
  }
  return best;
}

}  // namespace mixstack::test
