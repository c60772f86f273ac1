#include "engine/images/debug_file.h"

#include <elf.h>
#include <zlib.h>

#include <cstring>

#include "base/system/byte_cursor.h"
#include "engine/images/decompress.h"
#include "engine/images/file_bytes.h"

namespace mixstack::images {
namespace {

constexpr std::string_view kDebugRoot = "/usr/lib/debug";
constexpr std::uint64_t kMaxCrcBytes = std::uint64_t{512} << 20;
constexpr std::size_t kMaxMiniDebugInfo = std::size_t{64} << 20;

bool has_symbols(const ElfImage& image) {
  for (const auto& s : image.sections())
    if (s.type == SHT_SYMTAB && s.size != 0) return true;
  return false;
}

struct DebugLink {
  std::string name;
  std::uint32_t crc = 0;
};

std::optional<DebugLink> read_debug_link(const ElfImage& image) {
  const auto section = image.section(".gnu_debuglink");
  if (!section) return std::nullopt;
  base::ByteCursor cursor(section->bytes);
  DebugLink link;
  link.name = cursor.cstring();
  cursor.seek((cursor.position() + 3) & ~std::size_t{3});
  link.crc = cursor.u32();
  // A name with a slash would lead to any path that the target likes.
  if (!cursor.ok() || link.name.empty() || link.name.find('/') != std::string::npos) return std::nullopt;
  return link;
}

std::shared_ptr<const ElfImage> open_image(const std::string& path, const PathOpener& open,
                                           std::shared_ptr<const FileBytes>* file_out = nullptr) {
  auto file = open(path);
  if (!file || *file == nullptr) return nullptr;
  if (file_out != nullptr) *file_out = *file;
  auto image = ElfImage::from_file(*file);
  return image && has_symbols(**image) ? *image : nullptr;
}

bool has_crc(const FileBytes& file, std::uint32_t crc) {
  if (file.size() > kMaxCrcBytes) return false;
  const auto bytes = file.bytes();
  return ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()) == crc;
}

std::string path_by_build_id(const std::string& hex) {
  return std::string(kDebugRoot) + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug";
}

std::shared_ptr<const ElfImage> find_by_build_id(const ElfImage& image, const PathOpener& open, std::string& path) {
  const auto hex = image.build_id().hex();
  if (hex.size() < 4) return nullptr;
  path = path_by_build_id(hex);
  auto debug = open_image(path, open);
  return debug && debug->build_id() == image.build_id() ? debug : nullptr;
}

std::shared_ptr<const ElfImage> fetch_debug_file(const ElfImage& image, const std::string& image_path,
                                                 const DebugFetcher& fetch, std::string& path) {
  if (image.build_id().empty()) return nullptr;
  const auto fetched = fetch(image.build_id(), image_path, debug_link_name(image));
  if (!fetched) return nullptr;
  path = fetched->where;
  auto debug =
      open_image(path, [&](const std::string&) -> Result<std::shared_ptr<const FileBytes>> { return fetched->file; });
  return debug && debug->build_id() == image.build_id() ? debug : nullptr;
}

std::shared_ptr<const ElfImage> find_by_link(const ElfImage& image, const std::string& image_path,
                                             const PathOpener& open, std::string& where) {
  const auto link = read_debug_link(image);
  const auto slash = image_path.rfind('/');
  if (!link || slash == std::string::npos) return nullptr;
  const std::string folder = image_path.substr(0, slash + 1);
  for (const auto& path :
       {folder + link->name, folder + ".debug/" + link->name, std::string(kDebugRoot) + folder + link->name}) {
    std::shared_ptr<const FileBytes> file;
    auto debug = open_image(path, open, &file);
    if (!debug || debug->machine() != image.machine()) continue;
    const bool same_id = !image.build_id().empty() && debug->build_id() == image.build_id();
    if (!same_id && !has_crc(*file, link->crc)) continue;
    where = path;
    return debug;
  }
  return nullptr;
}

bool has_debug_information(const ElfImage& image) {
  for (const auto& s : image.sections())
    if (s.name == ".debug_info" && s.type != SHT_NOBITS && s.size != 0) return true;
  return false;
}

/// .gnu_debugaltlink: a path and the build id of the file there (dwz(1); GDB manual, "Index Files").
std::shared_ptr<const ElfImage> find_shared_part(const ElfImage& debug, const PathOpener& open) {
  const auto link = debug.section(".gnu_debugaltlink");
  if (!link || !open) return nullptr;
  base::ByteCursor cursor(link->bytes);
  const std::string path(cursor.cstring());
  BuildId id;
  const auto rest = cursor.ok() ? link->bytes.subspan(cursor.position()) : std::span<const std::byte>();
  if (rest.size() < 2 || rest.size() > id.bytes.size()) return nullptr;
  id.size = static_cast<std::uint8_t>(rest.size());
  std::memcpy(id.bytes.data(), rest.data(), rest.size());
  for (const std::string& place : {path_by_build_id(id.hex()), path}) {
    if (!place.starts_with('/')) continue;
    auto file = open(place);
    if (!file || *file == nullptr) continue;
    auto image = ElfImage::from_file(*file);
    if (image && (*image)->build_id() == id) return *image;
  }
  return nullptr;
}

}  // namespace

DebugInformation find_debug_information(std::shared_ptr<const ElfImage> image, const std::string& image_path,
                                        const PathOpener& open, std::shared_ptr<const ElfImage> debug_file) {
  DebugInformation found;
  if (!image) return found;
  if (!has_debug_information(*image)) {
    image = debug_file ? std::move(debug_file) : find_debug_file(*image, image_path, open);
    if (!image || !has_debug_information(*image)) return found;
  }
  found.shared = find_shared_part(*image, open);
  found.image = std::move(image);
  return found;
}

std::string debug_link_name(const ElfImage& image) {
  const auto link = read_debug_link(image);
  return link ? link->name : std::string();
}

std::shared_ptr<const ElfImage> find_debug_file(const ElfImage& image, const std::string& image_path,
                                                const PathOpener& open, std::string* path) {
  std::string unwanted, &where = path != nullptr ? *path : unwanted;
  if (!open) return nullptr;
  if (auto debug = find_by_build_id(image, open, where)) return debug;
  return find_by_link(image, image_path, open, where);
}

std::shared_ptr<const ElfImage> open_mini_debug_info(const ElfImage& image) {
  const auto section = image.section(".gnu_debugdata");
  if (!section || section->bytes.empty()) return nullptr;
  auto bytes = decompress_xz(section->bytes, kMaxMiniDebugInfo);
  if (!bytes) return nullptr;
  auto mini = ElfImage::from_file(buffer_file_bytes(std::move(*bytes)));
  return mini ? *mini : nullptr;
}

SymbolSources find_symbol_sources(std::shared_ptr<const ElfImage> image, const std::string& image_path,
                                  const PathOpener& open, const DebugFetcher& fetch) {
  SymbolSources sources;
  sources.image = std::move(image);
  if (!sources.image || has_symbols(*sources.image)) return sources;
  sources.debug = find_debug_file(*sources.image, image_path, open, &sources.debug_path);
  if (!sources.debug) sources.mini = open_mini_debug_info(*sources.image);
  if (!sources.debug && !sources.mini && fetch)
    sources.debug = fetch_debug_file(*sources.image, image_path, fetch, sources.debug_path);
  if (!sources.debug) sources.debug_path.clear();
  return sources;
}

}  // namespace mixstack::images
