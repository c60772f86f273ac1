#include "process/pack/pack_writer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "process/pack/names.h"

namespace mixstack::pack {
namespace {

constexpr std::size_t kAtOnce = 1 << 20;
constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kMostOfAFile = std::uint64_t{2} << 30, kMostOfAll = std::uint64_t{4} << 30;

/// Reads all of `out`; pages that are gone become zeros. Answers how many bytes were.
std::uint64_t read_or_zero(const MemoryReader& memory, Address address, std::span<std::byte> out) {
  std::uint64_t gone = 0;
  while (!out.empty()) {
    const auto n = memory.read_some(address, out);
    std::size_t done = n.value_or(0);
    if (done == 0) {
      done = std::min<std::size_t>(out.size(), kPage - address % kPage);
      std::memset(out.data(), 0, done);
      gone += done;
    }
    address += done;
    out = out.subspan(done);
  }
  return gone;
}

/// Writes memory without known texts. Bytes that may begin one are kept back until their neighbours come, in the same
/// piece or in the next one: where pieces meet says nothing about where texts end.
class MemoryWriter {
 public:
  MemoryWriter(PackStream& out, const MemoryReader& memory, const Blanker& blanker)
      : out_(out),
        memory_(memory),
        blanker_(blanker),
        overlap_(blanker.longest() == 0 ? 0 : blanker.longest() - 1),
        buffer_(overlap_ + kAtOnce) {}

  /// Pieces ascend.
  void write(const CorePiece& piece) {
    if (piece.range.begin != end_ || piece.is_public) finish();
    if (piece.is_public && !piece.bytes.empty()) return out_.write(piece.bytes);
    end_ = piece.range.end;
    for (Address at = piece.range.begin; at < end_ && !out_.has_failed();) {
      const auto n = static_cast<std::size_t>(std::min<Address>(kAtOnce, end_ - at));
      const auto room = std::span(buffer_).subspan(kept_, n);
      if (piece.bytes.empty()) {
        gone_ += read_or_zero(memory_, at, room);
      } else {
        std::memcpy(room.data(), piece.bytes.data() + (at - piece.range.begin), n);
      }
      at += n;
      put(kept_ + n, true);
    }
  }
  /// Writes what was kept back.
  void finish() {
    put(kept_, false);
    end_ = 0;
  }
  [[nodiscard]] std::uint64_t gone() const { return gone_; }

 private:
  void put(std::size_t size, bool goes_on) {
    const auto have = std::span(buffer_).first(size);
    (void)blanker_.blank(have, goes_on);
    kept_ = goes_on ? std::min(overlap_, size) : 0;
    out_.write(have.first(size - kept_));
    std::memmove(buffer_.data(), have.data() + (size - kept_), kept_);
  }

  PackStream& out_;
  const MemoryReader& memory_;
  const Blanker& blanker_;
  std::size_t overlap_, kept_ = 0;
  std::vector<std::byte> buffer_;
  Address end_ = 0;  ///< of the piece whose last bytes are kept back
  std::uint64_t gone_ = 0;
};

bool write_file(PackStream& out, const std::string& path, const FileBytes& file) {
  const std::uint64_t size = file.size();
  out.begin(std::string(kSysroot) + path, size);
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min<std::uint64_t>(size, kAtOnce)));
  for (std::uint64_t at = 0; at < size && !out.has_failed();) {
    const std::size_t n = file.copy(at, buffer);
    if (n == 0) break;
    out.write(std::span(buffer).first(n));
    at += n;
  }
  return out.end() == 0;
}

}  // namespace

WrittenPack write_members(PackStream& out, const std::string& manifest, const CoreLayout& core,
                          const MemoryReader& memory, const Blanker& blanker,
                          std::span<const PackedProcess::File> files) {
  WrittenPack written;
  out.begin(kManifest, manifest.size());
  out.write(std::as_bytes(std::span(manifest)));
  (void)out.end();
  written.core_bytes = core.size();
  out.begin(kCore, core.size());
  out.write(core.head());
  MemoryWriter writer(out, memory, blanker);
  for (const CorePiece& piece : core.pieces()) writer.write(piece);
  writer.finish();
  written.bytes_gone = writer.gone();
  (void)out.end();
  for (const PackedProcess::File& file : files) {
    if (out.has_failed()) break;
    const std::string path = std::filesystem::path(file.path).lexically_normal();
    const std::uint64_t size = file.bytes->size();
    if (!path.starts_with('/') || size > kMostOfAFile || written.file_bytes + size > kMostOfAll) {
      written.not_whole.push_back(file.path);
      continue;
    }
    written.file_bytes += size;
    written.files++;
    if (!write_file(out, path, *file.bytes)) written.not_whole.push_back(file.path);
  }
  return written;
}

}  // namespace mixstack::pack
