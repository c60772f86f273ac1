#include "engine/images/elf_image.h"

#include <elf.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "base/system/byte_cursor.h"
#include "engine/images/decompress.h"
#include "engine/images/elf_dynamic.h"
#include "engine/images/elf_headers.h"
#include "engine/images/elf_memory.h"
#include "engine/images/elf_unwind_sections.h"
#include "engine/images/file_bytes.h"

namespace mixstack::images {
namespace {

/// An image over bytes laid out as in its file.
class FileImage final : public ElfImage {
 public:
  FileImage(std::shared_ptr<const FileBytes> file, const ElfHeader& header)
      : file_(std::move(file)),
        header_(header),
        segments_(parse_segments(*file_, header_, file_->size())),
        sections_(parse_sections(*file_, header_)) {
    read_build_id();
  }

  [[nodiscard]] Arch arch() const override { return header_.arch; }
  [[nodiscard]] std::uint16_t machine() const override { return header_.machine; }
  [[nodiscard]] bool is_64_bit() const override { return header_.is_64_bit; }
  [[nodiscard]] std::uint16_t type() const override { return header_.type; }
  [[nodiscard]] std::uint64_t entry() const override { return header_.entry; }
  [[nodiscard]] const BuildId& build_id() const override { return build_id_; }
  [[nodiscard]] std::span<const Segment> segments() const override { return segments_; }
  [[nodiscard]] std::span<const Section> sections() const override { return sections_; }

  [[nodiscard]] std::optional<Section> section(std::string_view name) const override {
    for (const auto& s : sections_)
      if (s.name == name) return load(s);
    return std::nullopt;
  }

  [[nodiscard]] Section load(const Section& section) const override {
    Section s = section;
    if (s.type == SHT_NOBITS || s.type == SHT_NULL) return s;
    const bool old_style = s.name.starts_with(".zdebug_");
    if ((s.flags & SHF_COMPRESSED) == 0 && !old_style) {
      s.bytes = file_->range(s.offset, s.size);
      return s;
    }
    s.bytes = decompressed(s, old_style);
    s.size = s.bytes.size();
    return s;
  }

  [[nodiscard]] std::span<const std::byte> bytes_at(std::uint64_t address, std::size_t size) const override {
    for (const auto& s : segments_) {
      const std::uint64_t offset = address - s.vaddr;
      if (s.type != PT_LOAD || offset >= s.file_size || s.file_size - offset < size) continue;
      return file_->range(s.offset + offset, size);
    }
    return {};
  }

  [[nodiscard]] UnwindSections unwind_sections() const override { return find_unwind_sections(*this); }

  [[nodiscard]] std::optional<std::uint64_t> dynamic_symbol(std::string_view name) const override {
    return find_dynamic_symbol(*this, read_dynamic(*this), name);
  }

 private:
  void read_build_id() {
    // Sections first: a separate debug file keeps the program headers of its image, but their offsets are not valid in
    // it.
    unsigned tried = 0;
    for (const auto& s : sections_)
      if (build_id_.empty() && s.type == SHT_NOTE && s.size <= kMaxNotes && tried++ < kMaxNoteSections)
        build_id_ = find_build_id(load(s).bytes);
    for (const auto& s : segments_)
      if (build_id_.empty() && s.type == PT_NOTE && s.file_size <= kMaxNotes)
        build_id_ = find_build_id(file_->range(s.offset, s.file_size));
  }
  /// Decompresses once and keeps the result; a section that cannot be is kept as empty.
  [[nodiscard]] std::span<const std::byte> decompressed(const Section& s, bool old_style) const {
    const std::lock_guard lock(mutex_);
    auto [it, is_new] = decompressed_.try_emplace(s.offset);
    if (!is_new) return it->second;
    const auto raw = file_->range(s.offset, s.size);
    if (!old_style) {
      it->second = decompress_section(raw, header_.is_64_bit, budget_).value_or(std::vector<std::byte>());
    } else if (raw.size() > kOldHeader && std::memcmp(raw.data(), "ZLIB", 4) == 0) {
      it->second = decompress_zlib(raw.subspan(kOldHeader), budget_).value_or(std::vector<std::byte>());
    }
    budget_ -= std::min(budget_, it->second.size());
    return it->second;
  }

  static constexpr std::uint64_t kMaxNotes = 1u << 20;
  static constexpr unsigned kMaxNoteSections = 64;
  static constexpr std::size_t kOldHeader = 12;  // "ZLIB" and the size, big-endian (GNU binutils before SHF_COMPRESSED)

  std::shared_ptr<const FileBytes> file_;
  ElfHeader header_;
  std::vector<Segment> segments_;
  std::vector<Section> sections_;
  BuildId build_id_;
  mutable std::mutex mutex_;
  mutable std::map<std::uint64_t, std::vector<std::byte>> decompressed_;
  mutable std::size_t budget_ = kDecompressLimit;
};

}  // namespace

std::string BuildId::hex() const {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(std::size_t{size} * 2);
  for (std::size_t i = 0; i < size; i++) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

Result<std::shared_ptr<const ElfImage>> ElfImage::from_file(std::shared_ptr<const FileBytes> file) {
  if (!file) return fail(ErrorCode::invalid_argument);
  const auto header = parse_elf_header(*file);
  if (!header) return fail(header.error());
  return std::make_shared<const FileImage>(std::move(file), *header);
}

Result<std::shared_ptr<const ElfImage>> ElfImage::from_memory(const MemoryReader& memory, Address base,
                                                              std::size_t limit) {
  auto bytes = copy_loaded_image(memory, base, limit);
  if (!bytes) return fail(bytes.error());
  return from_file(buffer_file_bytes(std::move(*bytes)));
}

}  // namespace mixstack::images
