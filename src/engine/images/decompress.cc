#include "engine/images/decompress.h"

#include <elf.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/system/byte_cursor.h"

namespace mixstack::images {
namespace {

constexpr std::uint32_t kCompressZstd = 2;  // ELFCOMPRESS_ZSTD, missing from older <elf.h>
constexpr std::size_t kFirstOutput = 64 << 10;
constexpr std::uint64_t kXzMemory = 64u << 20;

enum class Step { again, done, failed };

/// Output that grows by doubling while a decoder asks for room, never beyond a limit.
class Output {
 public:
  explicit Output(std::size_t limit) : limit_(limit), bytes_(std::min(limit, kFirstOutput)) {}
  [[nodiscard]] std::byte* free() { return bytes_.data() + used_; }
  [[nodiscard]] std::size_t room() const { return bytes_.size() - used_; }
  void advance(std::size_t n) { used_ += n; }
  [[nodiscard]] bool grow() {
    if (bytes_.size() >= limit_) return false;
    bytes_.resize(std::min(limit_, bytes_.size() * 2));
    return true;
  }
  [[nodiscard]] std::vector<std::byte> take() {
    bytes_.resize(used_);
    bytes_.shrink_to_fit();
    return std::move(bytes_);
  }

 private:
  std::size_t limit_;
  std::size_t used_ = 0;
  std::vector<std::byte> bytes_;
};

/// Runs `step` until it is done. It must consume input or produce output at every call; a call that does neither
/// although there is room has met a truncated stream.
template <class F>
Result<std::vector<std::byte>> run(std::size_t limit, F&& step) {
  Output out(limit);
  while (true) {
    if (out.room() == 0 && !out.grow()) return fail(ErrorCode::limit_exceeded, limit);
    bool progressed = false;
    switch (step(out, progressed)) {
      case Step::done:
        return out.take();
      case Step::failed:
        return fail(ErrorCode::malformed);
      case Step::again:
        break;
    }
    if (!progressed) return fail(ErrorCode::truncated);
  }
}

Result<std::vector<std::byte>> inflate(std::span<const std::byte> in, std::size_t limit, int window_bits) {
  z_stream z{};
  if (in.size() > 0xffffffffu) return fail(ErrorCode::limit_exceeded, in.size());
  if (::inflateInit2(&z, window_bits) != Z_OK) return fail(ErrorCode::internal);
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&z, ::inflateEnd);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  return run(limit, [&](Output& out, bool& progressed) {
    const auto room = static_cast<uInt>(std::min<std::size_t>(out.room(), 1u << 30));
    const uInt had = z.avail_in;
    z.next_out = reinterpret_cast<Bytef*>(out.free());
    z.avail_out = room;
    const int r = ::inflate(&z, Z_NO_FLUSH);
    out.advance(room - z.avail_out);
    progressed = z.avail_in != had || z.avail_out != room;
    if (r == Z_STREAM_END) return Step::done;
    return r == Z_OK || r == Z_BUF_ERROR ? Step::again : Step::failed;
  });
}

}  // namespace

Result<std::vector<std::byte>> decompress_zlib(std::span<const std::byte> in, std::size_t limit) {
  return inflate(in, limit, MAX_WBITS);
}

Result<std::vector<std::byte>> decompress_deflate(std::span<const std::byte> in, std::size_t limit) {
  return inflate(in, limit, -MAX_WBITS);
}

Result<std::vector<std::byte>> decompress_zstd(std::span<const std::byte> in, std::size_t limit) {
  const std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> z(::ZSTD_createDStream(), ::ZSTD_freeDStream);
  if (!z) return fail(ErrorCode::internal);
  ZSTD_inBuffer input{in.data(), in.size(), 0};
  return run(limit, [&](Output& out, bool& progressed) {
    const std::size_t had = input.pos;
    ZSTD_outBuffer output{out.free(), out.room(), 0};
    const std::size_t r = ::ZSTD_decompressStream(z.get(), &output, &input);
    if (::ZSTD_isError(r) != 0) return Step::failed;
    out.advance(output.pos);
    progressed = input.pos != had || output.pos != 0;
    return r == 0 ? Step::done : Step::again;
  });
}

Result<std::vector<std::byte>> decompress_xz(std::span<const std::byte> in, std::size_t limit) {
  lzma_stream z = LZMA_STREAM_INIT;
  if (::lzma_stream_decoder(&z, kXzMemory, 0) != LZMA_OK) return fail(ErrorCode::internal);
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> end(&z, ::lzma_end);
  z.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
  z.avail_in = in.size();
  return run(limit, [&](Output& out, bool& progressed) {
    const std::size_t room = out.room();
    const std::size_t had = z.avail_in;
    z.next_out = reinterpret_cast<std::uint8_t*>(out.free());
    z.avail_out = room;
    const lzma_ret r = ::lzma_code(&z, LZMA_RUN);
    out.advance(room - z.avail_out);
    progressed = z.avail_in != had || z.avail_out != room;
    if (r == LZMA_STREAM_END) return Step::done;
    return r == LZMA_OK || r == LZMA_BUF_ERROR ? Step::again : Step::failed;
  });
}

Result<std::vector<std::byte>> decompress_section(std::span<const std::byte> in, bool is_64_bit, std::size_t limit) {
  const auto type = base::load_at<std::uint32_t>(in, 0);
  const std::size_t header = is_64_bit ? sizeof(Elf64_Chdr) : sizeof(Elf32_Chdr);
  const auto wide = base::load_at<Elf64_Chdr>(in, 0);
  const auto narrow = base::load_at<Elf32_Chdr>(in, 0);
  if (!type || in.size() < header || (is_64_bit ? !wide : !narrow)) return fail(ErrorCode::truncated);
  const std::uint64_t size = is_64_bit ? wide->ch_size : narrow->ch_size;
  if (size > limit) return fail(ErrorCode::limit_exceeded, size);
  const auto body = in.subspan(header);
  auto out = *type == ELFCOMPRESS_ZLIB ? decompress_zlib(body, static_cast<std::size_t>(size) + 1)
             : *type == kCompressZstd  ? decompress_zstd(body, static_cast<std::size_t>(size) + 1)
                                       : fail(ErrorCode::unsupported, *type);
  if (out && out->size() != size) return fail(ErrorCode::malformed, out->size());
  return out;
}

}  // namespace mixstack::images
