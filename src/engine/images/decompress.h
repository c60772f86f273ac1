// Bounded decompression of foreign bytes: the output never exceeds a limit, whatever the input claims.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::images {

/// Most bytes the compressed sections of one image may expand to.
inline constexpr std::size_t kDecompressLimit = std::size_t{256} << 20;

/// A zlib stream (RFC 1950).
[[nodiscard]] Result<std::vector<std::byte>> decompress_zlib(std::span<const std::byte> in, std::size_t limit);
/// Deflate without a header (RFC 1951).
[[nodiscard]] Result<std::vector<std::byte>> decompress_deflate(std::span<const std::byte> in, std::size_t limit);
/// A Zstandard frame (RFC 8878).
[[nodiscard]] Result<std::vector<std::byte>> decompress_zstd(std::span<const std::byte> in, std::size_t limit);
/// An .xz stream, as in .gnu_debugdata. The decoder's own memory is limited to 64 MiB.
[[nodiscard]] Result<std::vector<std::byte>> decompress_xz(std::span<const std::byte> in, std::size_t limit);
/// The content of an SHF_COMPRESSED section: an Elf32_Chdr or Elf64_Chdr and its stream (gABI "Section Compression").
[[nodiscard]] Result<std::vector<std::byte>> decompress_section(std::span<const std::byte> in, bool is_64_bit,
                                                                std::size_t limit);

}  // namespace mixstack::images
