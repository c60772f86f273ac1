// Decompression of a stream piece by piece, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "process/core/core_bytes.h"

namespace mixstack::process {

/// Fewest bytes by which encoding_of() and skippable_frame() decide.
inline constexpr std::size_t kMagicSize = 8;

/// The encoding that begins with these bytes: a zstd frame (RFC 8878), a gzip member (RFC 1952), an lz4 frame (LZ4
/// Frame Format 1.6) or an .xz stream (The .xz File Format 1.1). Anything else is `plain`.
[[nodiscard]] CoreEncoding encoding_of(std::span<const std::byte> first);
/// The whole size of the skippable frame (user data, RFC 8878 section 3.1.2; equal in zstd and lz4) that begins here.
[[nodiscard]] std::optional<std::uint64_t> skippable_frame(std::span<const std::byte> first);

enum class DecodeState : std::uint8_t {
  more,       ///< wants more input or more room
  frame_end,  ///< a frame, member or stream is whole and its checksum right; another may follow
  damaged,    ///< contradicts its format or its checksum
  too_large,  ///< well-formed, but needs more memory than a decoder may have
};

struct DecodeStep {
  std::size_t consumed = 0;
  std::size_t produced = 0;
  DecodeState state = DecodeState::more;
  const char* why = "";  ///< the library's words, of static duration, for `damaged` and `too_large`
};

class StreamDecoder {
 public:
  StreamDecoder() = default;
  StreamDecoder(const StreamDecoder&) = delete;
  StreamDecoder& operator=(const StreamDecoder&) = delete;
  virtual ~StreamDecoder() = default;
  /// Decodes what it can. A step that neither consumes nor produces needs more input.
  [[nodiscard]] virtual DecodeStep decode(std::span<const std::byte> in, std::span<std::byte> out) = 0;
  /// Prepares for the next frame after `frame_end`.
  [[nodiscard]] virtual bool restart() = 0;
};

/// A decoder that is ready for its first frame; null when there is no memory. `plain` copies.
[[nodiscard]] std::unique_ptr<StreamDecoder> make_decoder(CoreEncoding encoding);

}  // namespace mixstack::process
