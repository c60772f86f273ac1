#include "output/formats/gzip_stream.h"

#include <zlib.h>

#include <algorithm>
#include <array>

namespace mixstack::formats {

struct GzipStream::State {
  z_stream stream{};
  bool is_usable = false;
  std::array<char, 32 << 10> room{};
};

GzipStream::GzipStream(report::Writer& out) : out_(out), state_(std::make_unique<State>()) {
  constexpr int kGzip = 16 + MAX_WBITS;  // zlib.h: deflateInit2, windowBits
  constexpr int kMemory = 8;
  state_->is_usable =
      ::deflateInit2(&state_->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY) == Z_OK;
}

GzipStream::~GzipStream() {
  if (state_->is_usable) (void)::deflateEnd(&state_->stream);
}

void GzipStream::run(std::string_view bytes, int flush) {
  if (!state_->is_usable) return;  // out of memory: the output is empty, which every reader rejects
  z_stream& stream = state_->stream;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib does not write to it
  stream.avail_in = static_cast<uInt>(bytes.size());
  do {
    stream.next_out = reinterpret_cast<Bytef*>(state_->room.data());
    stream.avail_out = static_cast<uInt>(state_->room.size());
    if (::deflate(&stream, flush) == Z_STREAM_ERROR) return;
    out_ << std::string_view(state_->room.data(), state_->room.size() - stream.avail_out);
  } while (stream.avail_out == 0);
}

void GzipStream::add(std::string_view bytes) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 30;  // zlib counts in 32 bits
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, std::min(bytes.size(), kAtOnce));
    run(piece, Z_NO_FLUSH);
    bytes.remove_prefix(piece.size());
  }
}

void GzipStream::finish() { run({}, Z_FINISH); }

}  // namespace mixstack::formats
