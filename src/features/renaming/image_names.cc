#include "features/renaming/image_names.h"

#include <optional>

#include "engine/images/file_bytes.h"
#include "engine/symbol_files/proof.h"

namespace mixstack::renaming {
namespace {

using symbol_files::SymbolKey;

std::shared_ptr<symbols::LineTables> line_tables(NativeLines lines) {
  if (lines == NativeLines::none) return nullptr;
  using Packed = symbols::DebugSections::Packed;
  return std::make_shared<symbols::LineTables>(lines == NativeLines::all ? Packed::all : Packed::few);
}

/// Debug files by build id on this machine (GDB manual, "Debugging Information in Separate Files"): if the image itself
/// is missing, it has no path beside which to look for them.
SymbolOptions with_debug_folder(SymbolOptions options) {
  options.path += options.path.empty() ? "/usr/lib/debug" : ";/usr/lib/debug";
  return options;
}

/// A path from a recording. Files of /proc and /sys are no images, and reading some of them takes data away from others
/// (/proc/kmsg).
bool may_be_image(std::string_view path) {
  const bool is_made_up = path.starts_with("/proc/") || path.starts_with("/sys/");
  const bool is_plain = path.find("/../") == std::string_view::npos && path.find("//") == std::string_view::npos &&
                        path.find("/./") == std::string_view::npos;
  return path.starts_with('/') && is_plain && !is_made_up;
}

std::optional<std::uint8_t> digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

}  // namespace

images::BuildId build_id_of(std::string_view hex) {
  images::BuildId id;
  if (hex.size() % 2 != 0 || hex.size() / 2 > id.bytes.size()) return {};
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const auto high = digit(hex[i]), low = digit(hex[i + 1]);
    if (!high || !low) return {};
    id.bytes[id.size++] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return id;
}

ImageFiles::ImageFiles(const SymbolOptions& options)
    : budget_(images::FileBudget::of_this_machine()),
      finder_(session::make_symbol_finder(with_debug_folder(options))),
      tables_(std::make_shared<symbols::SymbolTables>(session::debug_fetcher(finder_, budget_))),
      lines_(line_tables(options.lines)),
      opener_([this](const std::string& path) { return open(path); }) {}

Result<std::shared_ptr<const FileBytes>> ImageFiles::open(const std::string& path) const {
  auto file = images::open_file_bytes(path);
  if (!file) return fail(file.error());
  return images::within_budget(std::move(*file), budget_);
}

std::shared_ptr<const images::ElfImage> ImageFiles::image_of(std::shared_ptr<const FileBytes> file) const {
  auto image = images::ElfImage::from_file(images::within_budget(std::move(file), budget_));
  return image ? std::move(*image) : nullptr;
}

ImageFiles::Found ImageFiles::find(const RecordedModule& module) {
  Found found;
  found.build_id = build_id_of(module.build_id);
  if (found.build_id.empty()) return found;
  if (may_be_image(module.path)) {
    const auto file = open(module.path);
    const std::string wrong = file ? symbol_files::prove_elf(*file, found.build_id, false) : "it cannot be opened";
    if (wrong.empty()) {
      auto image = images::ElfImage::from_file(*file);
      if (image) found.image = std::move(*image);
    } else if (file) {
      found.refused = module.path + " is another file here: " + wrong;
    }
  }
  if (!found.image) find_by_id(module, found);
  return found;
}

/// Without the image its debug file is enough: it has all symbols and lines. Else an image found by its build id, with
/// its own symbols.
void ImageFiles::find_by_id(const RecordedModule& module, Found& found) {
  for (const bool is_debug : {true, false}) {
    const SymbolKey key = is_debug ? SymbolKey::debug_file(found.build_id, module.path, "")
                                   : SymbolKey::executable(found.build_id, module.path);
    auto file = finder_->find(key, [&](const std::shared_ptr<const FileBytes>& bytes) {
      return symbol_files::prove_elf(bytes, found.build_id, is_debug);
    });
    if (file) {
      found.image = image_of(std::move(file->file));
      found.where = std::move(file->where);
      found.is_debug = is_debug;
      if (found.image) return;
    } else if (file.error().code == ErrorCode::mismatch && found.refused.empty()) {
      found.refused = "the symbol path has such files of other builds only";
    }
  }
}

std::shared_ptr<const images::SymbolTable> ImageFiles::symbols(const Found& found, const std::string& path) {
  return found.image ? tables_->get(found.image, path, opener_) : nullptr;
}

std::vector<SymbolInfo> ImageFiles::name(const Found& found, const RecordedModule& module, std::uint64_t address) {
  const auto table = symbols(found, module.path);
  if (!table) return {};
  SymbolInfo own = symbols::unnamed_place(module.path, module.build_id, address);
  if (const auto symbol = table->find(address)) symbols::name_by(*symbol, own);
  std::vector<SymbolInfo> all;
  if (lines_)
    all = symbols::add_source(lines_->at(found.image, module.path, opener_, *tables_, address), address, 0, own);
  if (all.size() >= kMostLogicalFrames) all.resize(kMostLogicalFrames - 1);
  all.push_back(std::move(own));
  return all;
}

}  // namespace mixstack::renaming
