#include "process/pack/pack_stream.h"

#include <poll.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "process/pack/tar_header.h"

namespace mixstack::pack {
namespace {

// Level 9 of libzstd: twice the time of its default for a tenth less; a pack is mailed.
constexpr int kLevel = 9;
constexpr std::array<std::byte, 4096> kZeros{};

}  // namespace

PackStream::PackStream(int fd, std::uint64_t time)
    : fd_(fd), time_(time), context_(::ZSTD_createCCtx(), ::ZSTD_freeCCtx), buffer_(::ZSTD_CStreamOutSize()) {
  if (context_ == nullptr) {
    error_ = {ErrorCode::limit_exceeded, ENOMEM, 0};
    return;
  }
  (void)::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, kLevel);
  (void)::ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
}

PackStream::~PackStream() = default;

void PackStream::put(std::span<const std::byte> bytes) {
  while (!bytes.empty() && !has_failed()) {
    const auto n = ::write(fd_, bytes.data(), bytes.size());
    if (n > 0) {
      written_ += static_cast<std::uint64_t>(n);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      pollfd wait{fd_, POLLOUT, 0};
      if (::poll(&wait, 1, -1) >= 0 || errno == EINTR) continue;
    }
    error_ = {ErrorCode::io_error, n < 0 ? errno : EIO, 0};
  }
}

void PackStream::compress(std::span<const std::byte> bytes, bool is_last) {
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  while (!has_failed()) {
    ZSTD_outBuffer out{buffer_.data(), buffer_.size(), 0};
    const std::size_t left = ::ZSTD_compressStream2(context_.get(), &out, &in, is_last ? ZSTD_e_end : ZSTD_e_continue);
    if (::ZSTD_isError(left) != 0) {
      error_ = {ErrorCode::limit_exceeded, ENOMEM, 0};
      return;
    }
    put(std::span(buffer_).first(out.pos));
    if (is_last ? left == 0 : in.pos == in.size) return;
  }
}

void PackStream::begin(std::string_view path, std::uint64_t size) {
  compress(tar_header_of(path, size, time_), false);
  left_ = size_ = size;
}

void PackStream::write(std::span<const std::byte> bytes) {
  bytes = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), left_)));
  left_ -= bytes.size();
  compress(bytes, false);
}

std::uint64_t PackStream::end() {
  const std::uint64_t missing = left_;
  while (left_ != 0 && !has_failed()) write(kZeros);
  left_ = 0;
  compress(std::span(kZeros).first(tar_padding(size_)), false);
  return missing;
}

Result<void> PackStream::finish() {
  if (!has_failed()) compress(std::span(kZeros).first(2 * kTarBlock), true);
  if (has_failed()) return fail(error_);
  return {};
}

}  // namespace mixstack::pack
