#include "process/pack/pack_reader.h"

#include <array>
#include <filesystem>

#include "base/words/pack_fault.h"
#include "process/core/core_target.h"
#include "process/pack/manifest.h"
#include "process/pack/names.h"
#include "process/pack/tar_header.h"
#include "process/pack/tar_index.h"

namespace mixstack::pack {
namespace {

using words::error_of;
using words::PackFault;

constexpr std::uint64_t kMaxManifest = 8 << 20;
constexpr unsigned kMostExtensions = 8;  // before the first member; tools write one or two

[[nodiscard]] Result<void> read_manifest(const process::CoreBytes& bytes, const TarIndex& members) {
  const auto at = members.find(kManifest);
  if (at == members.end() || at->second.size > kMaxManifest) return fail(error_of(PackFault::bad_manifest));
  std::string text(static_cast<std::size_t>(at->second.size), '\0');
  const auto n = bytes.read_at(at->second.offset, std::as_writable_bytes(std::span(text)));
  if (!n) return fail(n.error());
  return check_manifest(std::string_view(text).substr(0, *n));
}

}  // namespace

bool is_pack(const process::CoreBytes& bytes) {
  std::uint64_t at = 0;
  for (unsigned i = 0; i < kMostExtensions; i++) {
    std::array<std::byte, kTarBlock> block;
    const auto n = bytes.read_at(at, block);
    if (!n || *n < kTarBlock) return false;
    const auto header = parse_tar_header(block);
    if (!header || header->size > kMaxManifest) return false;
    if (!is_extension(header->type)) return without_dot(header->path).starts_with(kFolder);
    at += kTarBlock + header->size + tar_padding(header->size);
  }
  return false;
}

Result<OpenPack> open_pack(std::shared_ptr<const process::CoreBytes> bytes) {
  auto contents = index_tar(*bytes);
  if (!contents) return fail(contents.error());
  const TarIndex& members = contents->members;
  const bool has_core = members.contains(kCore);
  // If the pack was cut off, the missing core is not the fault of its maker.
  if (contents->is_cut_off && !has_core) return fail(ErrorCode::truncated, bytes->size());
  if (auto read = read_manifest(*bytes, members); !read) return fail(read.error());
  if (!has_core) return fail(error_of(PackFault::no_core));
  const TarMember& core = members.find(kCore)->second;
  auto part = bytes->part(core.offset, core.size, bytes->path());
  if (!part) return fail(part.error());
  if (contents->is_cut_off)
    (*part)->tell_cut_off({{ErrorCode::truncated, 0, bytes->size()},
                           bytes->path(),
                           "the pack ends early: it was cut off (a full disk, a copy that did not end), so files that "
                           "its stacks need may be missing. Get it again from where it was made"});
  OpenPack pack;
  pack.core = std::move(*part);
  const auto index = std::make_shared<const TarIndex>(std::move(contents->members));
  pack.files = [bytes, index](const std::string& path) -> Result<std::shared_ptr<const FileBytes>> {
    const auto at = index->find(std::string(kSysroot) + std::filesystem::path(path).lexically_normal().string());
    if (at == index->end()) return fail(ErrorCode::not_found);
    return bytes->file_inside(at->second.offset, at->second.size);
  };
  return pack;
}

process::CoreFormat pack_format() {
  const auto open = [](std::shared_ptr<const process::CoreBytes> bytes,
                       process::FileFinderOptions files) -> Result<process::OpenedCore> {
    auto pack = open_pack(std::move(bytes));
    if (!pack) return fail(pack.error());
    files.packed = std::move(pack->files);
    auto target = process::open_core(pack->core, std::move(files));
    // The cut is the reason; what is missing comes of it.
    if (!target && pack->core->diagnosis()) return fail(pack->core->diagnosis()->error);
    if (!target) return fail(target.error());
    return process::OpenedCore{std::move(*target), std::move(pack->core)};
  };
  return {"pack", is_pack, open};
}

}  // namespace mixstack::pack
