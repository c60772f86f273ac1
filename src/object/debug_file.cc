#include "object/debug_file.h"

#include <elf.h>
#include <zlib.h>

#include "base/byte_cursor.h"
#include "object/decompress.h"
#include "object/file_bytes.h"

namespace mixstack::object {
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
  // A name with a slash would lead anywhere the target likes.
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

std::shared_ptr<const ElfImage> find_by_build_id(const ElfImage& image, const PathOpener& open) {
  const auto hex = image.build_id().hex();
  if (hex.size() < 4) return nullptr;
  auto debug =
      open_image(std::string(kDebugRoot) + "/.build-id/" + hex.substr(0, 2) + "/" + hex.substr(2) + ".debug", open);
  return debug && debug->build_id() == image.build_id() ? debug : nullptr;
}

std::shared_ptr<const ElfImage> fetch_debug_file(const ElfImage& image, const DebugFetcher& fetch) {
  if (image.build_id().empty()) return nullptr;
  auto debug = open_image({}, [&](const std::string&) { return fetch(image.build_id()); });
  return debug && debug->build_id() == image.build_id() ? debug : nullptr;
}

std::shared_ptr<const ElfImage> find_by_link(const ElfImage& image, const std::string& image_path,
                                             const PathOpener& open) {
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
    if (same_id || has_crc(*file, link->crc)) return debug;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const ElfImage> find_debug_file(const ElfImage& image, const std::string& image_path,
                                                const PathOpener& open) {
  if (!open) return nullptr;
  if (auto debug = find_by_build_id(image, open)) return debug;
  return find_by_link(image, image_path, open);
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
  sources.debug = find_debug_file(*sources.image, image_path, open);
  if (!sources.debug) sources.mini = open_mini_debug_info(*sources.image);
  if (!sources.debug && !sources.mini && fetch) sources.debug = fetch_debug_file(*sources.image, fetch);
  return sources;
}

}  // namespace mixstack::object
