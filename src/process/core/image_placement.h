// Which images of a file lie where in a process, by its mappings and the file's own headers.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/images/elf_image.h"
#include "engine/images/image_relocations.h"
#include "mixstack/memory_reader.h"
#include "mixstack/target.h"

namespace mixstack::process {

/// A file as memory whose addresses are file offsets: for parsers that read through a MemoryReader.
class FileMemory final : public MemoryReader {
 public:
  explicit FileMemory(std::shared_ptr<const FileBytes> file) : file_(std::move(file)) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;

 private:
  std::shared_ptr<const FileBytes> file_;
};

/// An image of a candidate file at its place. Immutable but for relocations, which are read when first asked for.
class ImagePlacement {
 public:
  enum class Kind : std::uint8_t { elf, pe };

  [[nodiscard]] static std::unique_ptr<ImagePlacement> elf(std::shared_ptr<const FileBytes> file, const Region& header);
  /// A PE image with its sections where they belong, or as one flat mapping of the file.
  [[nodiscard]] static std::unique_ptr<ImagePlacement> pe(std::shared_ptr<const FileBytes> file, const Region& header);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const AddressRange& range() const { return range_; }
  [[nodiscard]] Arch arch() const { return arch_; }
  [[nodiscard]] const images::BuildId& build_id() const { return build_id_; }
  /// Whether the program may have changed the bytes at `address` since they were loaded.
  [[nodiscard]] bool is_changeable(Address address) const;
  /// The permissions of the page at `address`, by the image's headers.
  [[nodiscard]] bool is_executable(Address address) const;
  [[nodiscard]] bool is_writable(Address address) const;
  /// Applies the loader's relocations to the file's bytes at `address`.
  void relocate(Address address, std::span<std::byte> bytes) const;
  [[nodiscard]] std::span<const images::Relocation> relocations() const;
  [[nodiscard]] std::uint64_t load_bias() const { return load_bias_; }

 private:
  struct Part {  // a segment or section, at link-time addresses
    std::uint64_t address = 0, memory_size = 0, offset = 0;
    bool writable = false, executable = false;
  };
  ImagePlacement() = default;
  [[nodiscard]] const Part* part_at(Address address) const;

  Kind kind_ = Kind::elf;
  Arch arch_ = Arch::unknown;
  bool is_flat_ = false;
  std::uint64_t load_bias_ = 0;
  AddressRange range_, relro_;
  images::BuildId build_id_;
  std::vector<Part> parts_;
  std::shared_ptr<const images::ElfImage> elf_;
  std::shared_ptr<const FileMemory> pe_file_;
  std::uint64_t pe_offset_ = 0;
  mutable std::once_flag relocations_once_;
  mutable std::vector<images::Relocation> relocations_;
};

/// Images among the mappings of one file, ascending. `mappings` ascend by address and all belong to `file`.
[[nodiscard]] std::vector<std::unique_ptr<ImagePlacement>> place_images(const std::shared_ptr<const FileBytes>& file,
                                                                        std::span<const Region> mappings);
/// The one that holds an address, or null.
[[nodiscard]] const ImagePlacement* placement_at(std::span<const std::unique_ptr<ImagePlacement>> placements,
                                                 Address address);

}  // namespace mixstack::process
