#include "pack/pack_writer.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "pack/names.h"

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

/// Writes pieces that overlap, so that the blanker finds a text that lies across two.
std::uint64_t write_memory(PackStream& out, AddressRange range, const MemoryReader& memory, const Blanker& blanker) {
  const std::size_t overlap = blanker.longest() == 0 ? 0 : blanker.longest() - 1;
  std::vector<std::byte> buffer(overlap + kAtOnce);
  std::size_t kept = 0;
  std::uint64_t gone = 0;
  for (Address at = range.begin; at < range.end && !out.has_failed();) {
    const auto n = static_cast<std::size_t>(std::min<Address>(kAtOnce, range.end - at));
    gone += read_or_zero(memory, at, std::span(buffer).subspan(kept, n));
    at += n;
    const bool goes_on = at < range.end;
    const auto have = std::span(buffer).first(kept + n);
    (void)blanker.blank(have, goes_on);
    kept = goes_on ? std::min(overlap, have.size()) : 0;
    out.write(have.first(have.size() - kept));
    std::memmove(buffer.data(), have.data() + (have.size() - kept), kept);
  }
  return gone;
}

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
                          const MemoryReader& memory, const Blanker& blanker, std::span<const Recording::File> files) {
  WrittenPack written;
  out.begin(kManifest, manifest.size());
  out.write(std::as_bytes(std::span(manifest)));
  (void)out.end();
  written.core_bytes = core.size();
  out.begin(kCore, core.size());
  out.write(core.head());
  for (const CorePiece& piece : core.pieces()) {
    if (piece.bytes.empty()) {
      written.bytes_gone += write_memory(out, piece.range, memory, blanker);
    } else {
      out.write(piece.bytes);
    }
  }
  (void)out.end();
  for (const Recording::File& file : files) {
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
