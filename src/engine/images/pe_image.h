// Headers of PE images, the format of .NET assemblies on every OS, ReadyToRun ones included.
// Layout of the structures: "PE Format" (Microsoft) and ECMA-335 partition II.25.
#pragma once

#include <string_view>
#include <vector>

#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack::images {

/// The arrangement of the image's bytes.
enum class PeLayout : std::uint8_t {
  flat,    ///< as in the file: an RVA is found through the section table
  mapped,  ///< as loaded: an RVA is the distance from the base
};

/// The OS a ReadyToRun image was compiled for: its machine field is the CPU's value XOR a mask of the OS
/// (dotnet/runtime src/coreclr/inc/pedecoder.h, IMAGE_FILE_MACHINE_OS_MASK_*). IL-only images are `windows`.
enum class PeOs : std::uint8_t { unknown, windows, linux, apple, freebsd, netbsd, sun };

struct PeMachine {
  std::uint16_t raw = 0;
  Arch arch = Arch::unknown;
  PeOs os = PeOs::unknown;
};
[[nodiscard]] PeMachine decode_pe_machine(std::uint16_t raw);

struct PeDirectory {
  std::uint32_t rva = 0, size = 0;
  [[nodiscard]] bool empty() const { return rva == 0 || size == 0; }
};

struct PeSection {
  std::array<char, 8> name{};
  std::uint32_t virtual_size = 0, rva = 0, raw_size = 0, raw_offset = 0, flags = 0;
};

/// Numbers of data directories.
enum class PeDirectoryId : unsigned { exports = 0, exception = 3, base_relocation = 5, debug = 6, cli_header = 14 };

/// IMAGE_COR20_HEADER (ECMA-335 II.25.3.3).
struct CliHeader {
  std::uint16_t major_runtime_version = 0, minor_runtime_version = 0;
  PeDirectory metadata;
  std::uint32_t flags = 0;        ///< 1: IL only, ...
  std::uint32_t entry_point = 0;  ///< token or RVA
  PeDirectory resources;
  PeDirectory managed_native_header;  ///< READYTORUN_HEADER ("RTR\0") where precompiled code exists
};

/// A PE image over borrowed bytes or a borrowed reader, which must outlive it. Every number is checked before it is
/// used; a number that points outside the image is an error of the call that needs it, not of the whole image.
/// Immutable; as thread-safe as the reader. Copying is cheap apart from the section table (at most 96 entries).
class PeImage {
 public:
  /// Errors: `malformed` (no PE), `truncated`, `limit_exceeded`, those of the reader.
  [[nodiscard]] static Result<PeImage> from_bytes(std::span<const std::byte> bytes, PeLayout layout);
  /// `size` bounds all reading from `base`; 0: SizeOfImage for a mapped image, no bound for a flat one.
  [[nodiscard]] static Result<PeImage> from_memory(const MemoryReader& memory, Address base, PeLayout layout,
                                                   std::uint64_t size = 0);

  [[nodiscard]] PeLayout layout() const { return layout_; }
  [[nodiscard]] PeMachine machine() const { return machine_; }
  [[nodiscard]] bool is_pe32_plus() const { return is_pe32_plus_; }
  [[nodiscard]] std::uint64_t preferred_base() const { return preferred_base_; }
  [[nodiscard]] std::uint32_t size_of_image() const { return size_of_image_; }
  [[nodiscard]] std::uint32_t size_of_headers() const { return size_of_headers_; }
  [[nodiscard]] std::uint32_t timestamp() const { return timestamp_; }
  [[nodiscard]] std::span<const PeSection> sections() const { return sections_; }
  /// Empty when the image has fewer directories.
  [[nodiscard]] PeDirectory directory(PeDirectoryId id) const;

  /// Distance from the image's first byte of `size` bytes at `rva`; `malformed` (value = rva) when they do not lie
  /// wholly in one section's stored part or the headers.
  [[nodiscard]] Result<std::uint64_t> offset_of(std::uint32_t rva, std::uint64_t size) const;
  /// Target address of `rva`; only for images read from memory (else base is 0).
  [[nodiscard]] Result<Address> address_of(std::uint32_t rva, std::uint64_t size) const;
  [[nodiscard]] Result<void> read(std::uint32_t rva, std::span<std::byte> out) const;
  /// The bytes themselves, only for images over bytes; empty otherwise or when outside.
  [[nodiscard]] std::span<const std::byte> bytes(std::uint32_t rva, std::uint64_t size) const;

  /// `not_found` for images without one (native DLLs).
  [[nodiscard]] Result<CliHeader> cli_header() const;

 private:
  PeImage() = default;
  [[nodiscard]] static Result<PeImage> parse(PeImage image);
  [[nodiscard]] Result<void> read_raw(std::uint64_t offset, std::span<std::byte> out) const;
  [[nodiscard]] Result<void> read_sections(std::uint64_t offset, std::uint16_t count);
  template <class T>
  [[nodiscard]] Result<T> raw(std::uint64_t offset) const;

  std::span<const std::byte> bytes_;
  const MemoryReader* memory_ = nullptr;
  Address base_ = 0;
  std::uint64_t size_ = 0;  // bound of all reading
  PeLayout layout_ = PeLayout::flat;
  PeMachine machine_;
  bool is_pe32_plus_ = false;
  std::uint64_t preferred_base_ = 0;
  std::uint32_t size_of_image_ = 0, size_of_headers_ = 0, timestamp_ = 0;
  std::uint32_t directory_count_ = 0;
  std::array<PeDirectory, 16> directories_{};
  std::vector<PeSection> sections_;
};

}  // namespace mixstack::images
