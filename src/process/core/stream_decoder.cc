#include "process/core/stream_decoder.h"

#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/system/byte_cursor.h"

namespace mixstack::process {
namespace {

constexpr std::uint32_t kZstdMagic = 0xFD2FB528;
constexpr std::uint32_t kLz4Magic = 0x184D2204;
constexpr std::uint32_t kSkippableMagic = 0x184D2A50;  // and the 15 after it
constexpr std::array<std::uint8_t, 3> kGzipMagic{0x1f, 0x8b, 8};
constexpr std::array<std::uint8_t, 6> kXzMagic{0xfd, '7', 'z', 'X', 'Z', 0};

constexpr int kZstdWindowLog = 27;              // 128 MiB, what the zstd command accepts without --long
constexpr std::uint64_t kXzMemory = 128 << 20;  // `xz -9` needs 65 MiB

template <std::size_t N>
bool begins_with(std::span<const std::byte> bytes, const std::array<std::uint8_t, N>& magic) {
  return bytes.size() >= N && std::memcmp(bytes.data(), magic.data(), N) == 0;
}

class CopyDecoder final : public StreamDecoder {
 public:
  DecodeStep decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    const std::size_t n = std::min(in.size(), out.size());
    std::copy_n(in.begin(), n, out.begin());
    return {n, n, DecodeState::more, ""};
  }
  bool restart() override { return true; }
};

class GzipDecoder final : public StreamDecoder {
 public:
  GzipDecoder() : ready_(::inflateInit2(&z_, MAX_WBITS + 16) == Z_OK) {}
  ~GzipDecoder() override { ::inflateEnd(&z_); }
  [[nodiscard]] bool ready() const { return ready_; }
  DecodeStep decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    z_.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    z_.avail_in = static_cast<uInt>(std::min<std::size_t>(in.size(), 1u << 30));
    z_.next_out = reinterpret_cast<Bytef*>(out.data());
    z_.avail_out = static_cast<uInt>(std::min<std::size_t>(out.size(), 1u << 30));
    const DecodeStep had{z_.avail_in, z_.avail_out, DecodeState::more, ""};
    const int r = ::inflate(&z_, Z_NO_FLUSH);
    const DecodeState state = r == Z_STREAM_END               ? DecodeState::frame_end
                              : r == Z_OK || r == Z_BUF_ERROR ? DecodeState::more
                                                              : DecodeState::damaged;
    const char* why = state != DecodeState::damaged ? "" : z_.msg != nullptr ? z_.msg : ::zError(r);
    return {had.consumed - z_.avail_in, had.produced - z_.avail_out, state, why};
  }
  bool restart() override { return ::inflateReset(&z_) == Z_OK; }

 private:
  z_stream z_{};
  bool ready_;
};

/// Fed one block at a time, as the library proposes: when a block is damaged, the library keeps back what it decoded
/// in the same call.
class ZstdDecoder final : public StreamDecoder {
 public:
  ZstdDecoder() : z_(::ZSTD_createDStream(), ::ZSTD_freeDStream) {}
  [[nodiscard]] bool ready() {
    return z_ && ::ZSTD_isError(::ZSTD_DCtx_setParameter(z_.get(), ZSTD_d_windowLogMax, kZstdWindowLog)) == 0 &&
           restart();
  }
  DecodeStep decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    ZSTD_inBuffer input{in.data(), std::min(in.size(), next_), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t r = ::ZSTD_decompressStream(z_.get(), &output, &input);
    if (::ZSTD_isError(r) == 0) {
      next_ = std::max<std::size_t>(r, 1);
      return {input.pos, output.pos, r == 0 ? DecodeState::frame_end : DecodeState::more, ""};
    }
    const bool large = ::ZSTD_getErrorCode(r) == ZSTD_error_frameParameter_windowTooLarge;
    return {0, 0, large ? DecodeState::too_large : DecodeState::damaged, ::ZSTD_getErrorName(r)};
  }
  bool restart() override {
    next_ = ::ZSTD_initDStream(z_.get());
    return ::ZSTD_isError(next_) == 0;
  }

 private:
  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> z_;
  std::size_t next_ = 1;
};

/// Fed one block at a time, for the same reason.
class Lz4Decoder final : public StreamDecoder {
 public:
  Lz4Decoder() {
    if (::LZ4F_isError(::LZ4F_createDecompressionContext(&z_, LZ4F_VERSION)) != 0) z_ = nullptr;
  }
  ~Lz4Decoder() override { ::LZ4F_freeDecompressionContext(z_); }
  [[nodiscard]] bool ready() const { return z_ != nullptr; }
  DecodeStep decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    std::size_t consumed = std::min(in.size(), next_);
    std::size_t produced = out.size();
    const std::size_t r = ::LZ4F_decompress(z_, out.data(), &produced, in.data(), &consumed, nullptr);
    if (::LZ4F_isError(r) != 0) return {0, 0, DecodeState::damaged, ::LZ4F_getErrorName(r)};
    next_ = std::max<std::size_t>(r, 1);
    return {consumed, produced, r == 0 ? DecodeState::frame_end : DecodeState::more, ""};
  }
  bool restart() override {
    ::LZ4F_resetDecompressionContext(z_);
    next_ = kFirst;
    return true;
  }

 private:
  static constexpr std::size_t kFirst = LZ4F_HEADER_SIZE_MIN;
  LZ4F_dctx* z_ = nullptr;
  std::size_t next_ = kFirst;
};

class XzDecoder final : public StreamDecoder {
 public:
  ~XzDecoder() override { ::lzma_end(&z_); }
  DecodeStep decode(std::span<const std::byte> in, std::span<std::byte> out) override {
    z_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    z_.avail_in = in.size();
    z_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    z_.avail_out = out.size();
    const lzma_ret r = ::lzma_code(&z_, LZMA_RUN);
    const DecodeStep step{in.size() - z_.avail_in, out.size() - z_.avail_out, DecodeState::more, ""};
    if (r == LZMA_OK || r == LZMA_BUF_ERROR) return step;
    if (r == LZMA_STREAM_END) return {step.consumed, step.produced, DecodeState::frame_end, ""};
    const bool large = r == LZMA_MEMLIMIT_ERROR || r == LZMA_MEM_ERROR;
    const char* why = large                     ? "the dictionary is too large"
                      : r == LZMA_OPTIONS_ERROR ? "a filter that liblzma does not know"
                                                : "the data is corrupt";
    return {step.consumed, step.produced, large ? DecodeState::too_large : DecodeState::damaged, why};
  }
  bool restart() override { return ::lzma_stream_decoder(&z_, kXzMemory, 0) == LZMA_OK; }
  [[nodiscard]] bool ready() { return restart(); }

 private:
  lzma_stream z_ = LZMA_STREAM_INIT;
};

template <class T>
std::unique_ptr<StreamDecoder> made() {
  auto decoder = std::make_unique<T>();
  if (!decoder->ready()) return nullptr;
  return decoder;
}

}  // namespace

CoreEncoding encoding_of(std::span<const std::byte> first) {
  const auto magic = base::load_at<std::uint32_t>(first, 0);
  if (magic == kZstdMagic) return CoreEncoding::zstd;
  if (magic == kLz4Magic) return CoreEncoding::lz4;
  if (begins_with(first, kGzipMagic)) return CoreEncoding::gzip;
  if (begins_with(first, kXzMagic)) return CoreEncoding::xz;
  return CoreEncoding::plain;
}

std::optional<std::uint64_t> skippable_frame(std::span<const std::byte> first) {
  const auto magic = base::load_at<std::uint32_t>(first, 0);
  const auto size = base::load_at<std::uint32_t>(first, 4);
  if (!size || (*magic & ~std::uint32_t{15}) != kSkippableMagic) return std::nullopt;
  return std::uint64_t{kMagicSize} + *size;
}

std::unique_ptr<StreamDecoder> make_decoder(CoreEncoding encoding) {
  switch (encoding) {
    case CoreEncoding::zstd:
      return made<ZstdDecoder>();
    case CoreEncoding::gzip:
      return made<GzipDecoder>();
    case CoreEncoding::lz4:
      return made<Lz4Decoder>();
    case CoreEncoding::xz:
      return made<XzDecoder>();
    case CoreEncoding::plain:
      break;
  }
  return std::make_unique<CopyDecoder>();
}

}  // namespace mixstack::process
