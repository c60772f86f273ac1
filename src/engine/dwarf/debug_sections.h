// The debug sections of an ELF image, for libdw.
#pragma once

#include <elfutils/libdw.h>
#include <libelf.h>

#include <memory>
#include <span>
#include <string>

#include "engine/images/elf_image.h"

namespace mixstack::symbols {

/// An image that has only the debug sections for lines and functions, so that libdw unpacks nothing itself and finds no
/// paths of other files to open. Their bytes are borrowed from the images, which it keeps.
class DebugSections {
 public:
  /// Unpacking takes 3 ms a megabyte of packed bytes, and a whole dump a few of them.
  enum class Packed : std::uint8_t { few, all };
  static constexpr std::uint64_t kFewPackedBytes = 1 << 20, kFewBytes = 128 << 20;

  /// Whether the image's debug information is within these limits, or `packed` has none.
  [[nodiscard]] static bool is_at_hand(const images::ElfImage& image, Packed packed);

  /// `shared` may be null. Errors: `not_found` (no debug information), `limit_exceeded` (more than a few packed bytes),
  /// `malformed`, `io_error`.
  [[nodiscard]] static Result<std::unique_ptr<DebugSections>> open(std::shared_ptr<const images::ElfImage> image,
                                                                   std::shared_ptr<const images::ElfImage> shared,
                                                                   Packed packed);
  ~DebugSections();
  DebugSections(const DebugSections&) = delete;
  DebugSections& operator=(const DebugSections&) = delete;

  [[nodiscard]] Dwarf* dwarf() const { return dwarf_; }
  /// Bytes of .debug_line.
  [[nodiscard]] std::span<const std::byte> lines() const { return lines_; }

 private:
  DebugSections() = default;
  [[nodiscard]] Result<void> make(Packed packed);
  [[nodiscard]] bool add_section(std::string_view name, std::uint32_t type, std::span<const std::byte> bytes);

  std::shared_ptr<const images::ElfImage> image_;
  std::unique_ptr<DebugSections> shared_;
  std::string names_;
  std::span<const std::byte> lines_;
  Elf* elf_ = nullptr;
  Dwarf* dwarf_ = nullptr;
};

}  // namespace mixstack::symbols
