#include "process/pack/tar_index.h"

#include <array>

#include "base/words/pack_fault.h"
#include "process/pack/tar_header.h"

namespace mixstack::pack {
namespace {

using words::error_of;
using words::PackFault;

constexpr std::size_t kMaxMembers = 20'000;
constexpr std::size_t kMaxHeaders = 5 * kMaxMembers;  // folders and extensions, too
constexpr std::size_t kMaxPaths = 8 << 20;            // of all members together
constexpr std::uint64_t kMaxRecords = 64 << 10;       // of an extended header, or a long name
constexpr std::size_t kMaxPath = 8192;

/// Whether a path stays inside the folder that it is unpacked in.
[[nodiscard]] bool is_safe(std::string_view path) {
  if (path.empty() || path.front() == '/' || path.size() > kMaxPath) return false;
  if (path.find('\0') != std::string_view::npos) return false;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (path.substr(0, end) == "..") return false;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return true;
}

class TarReader {
 public:
  explicit TarReader(const process::CoreBytes& archive) : archive_(archive) {}

  [[nodiscard]] Result<TarContents> read() {
    TarContents contents;
    for (;;) {
      std::array<std::byte, kTarBlock> block;
      const auto n = archive_.read_at(at_, block);
      if (!n) return fail(n.error());
      contents.is_cut_off = *n < kTarBlock;
      if (contents.is_cut_off || is_end_of_tar(block)) break;
      if (headers_++ == kMaxHeaders) return refuse(PackFault::too_many_members);
      const auto header = parse_tar_header(block);
      if (!header) return refuse(PackFault::damaged_archive);
      at_ += kTarBlock;
      if (auto taken = take(*header); !taken) return fail(taken.error());
      const std::uint64_t left = archive_.size() - at_;
      const std::uint64_t size = size_of_last_;
      contents.is_cut_off = size > left || tar_padding(size) > left - size;
      if (contents.is_cut_off) break;
      at_ += size + tar_padding(size);
    }
    contents.members = std::move(index_);
    return contents;
  }

 private:
  [[nodiscard]] static tl::unexpected<Error> refuse(PackFault fault) { return fail(error_of(fault)); }

  [[nodiscard]] Result<void> take(TarHeader header) {
    size_of_last_ = header.size;
    if (header.type == 'x' || header.type == 'L') return take_extension(header);
    if (header.type == 'g') return {};  // for all that follow: comments, nothing that we need
    if (!long_name_.empty()) header.path = std::exchange(long_name_, {});
    if (!apply_pax_records(std::exchange(records_, {}), header)) return refuse(PackFault::damaged_archive);
    size_of_last_ = header.size;
    if (!is_safe(header.path)) return refuse(PackFault::unsafe_path);
    if (header.type == '5') return {};
    if (header.type != '0' && header.type != '7') return refuse(PackFault::not_a_file);
    path_bytes_ += header.path.size();
    if (index_.size() >= kMaxMembers || path_bytes_ > kMaxPaths) return refuse(PackFault::too_many_members);
    if (header.size > UINT64_MAX / 2) return refuse(PackFault::damaged_archive);
    if (!index_.try_emplace(std::string(without_dot(header.path)), TarMember{at_, header.size}).second)
      return refuse(PackFault::two_cores);
    return {};
  }

  /// Keeps what the next header has no room for: pax records, or a long name.
  [[nodiscard]] Result<void> take_extension(const TarHeader& header) {
    if (header.size > kMaxRecords) return refuse(PackFault::damaged_archive);
    std::string text(static_cast<std::size_t>(header.size), '\0');
    const auto n = archive_.read_at(at_, std::as_writable_bytes(std::span(text)));
    if (!n) return fail(n.error());
    if (*n < text.size()) return {};  // cut off
    if (header.type == 'x') {
      records_ = std::move(text);
    } else {
      long_name_ = text.substr(0, text.find('\0'));
    }
    return {};
  }

  const process::CoreBytes& archive_;
  std::uint64_t at_ = 0, size_of_last_ = 0;
  std::size_t path_bytes_ = 0, headers_ = 0;
  std::string records_, long_name_;
  TarIndex index_;
};

}  // namespace

Result<TarContents> index_tar(const process::CoreBytes& archive) { return TarReader(archive).read(); }

}  // namespace mixstack::pack
