// An ELF image's own description, from a file's bytes or from the memory of a process.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/memory_reader.h"
#include "mixstack/target.h"

namespace mixstack::images {

/// GNU build id; at most 64 bytes are kept.
struct BuildId {
  std::array<std::uint8_t, 64> bytes{};
  std::uint8_t size = 0;
  [[nodiscard]] bool empty() const { return size == 0; }
  [[nodiscard]] std::string hex() const;
  friend bool operator==(const BuildId&, const BuildId&) = default;
};

struct Segment {
  std::uint32_t type = 0, flags = 0;
  std::uint64_t offset = 0, vaddr = 0, file_size = 0, memory_size = 0;
};

/// A part of the image: its place at link time and its bytes (empty for NOBITS, when not held, and in the list that
/// `ElfImage::sections` answers, which loads nothing).
struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0, address = 0, offset = 0, size = 0, entry_size = 0;
  std::uint32_t link = 0, info = 0;
  std::span<const std::byte> bytes;
};

/// Sections an unwinder needs, at link-time addresses. Bytes are borrowed from the image.
struct UnwindSections {
  Arch arch = Arch::unknown;
  bool is_64_bit = true;
  Section eh_frame, eh_frame_hdr, debug_frame;       ///< `bytes` empty where absent
  std::uint64_t text_address = 0, data_address = 0;  ///< bases of DW_EH_PE_textrel / datarel
};

/// An ELF image. Immutable after construction, hence safe to share between threads. All addresses are link-time
/// addresses: target address minus load bias. Every header field is checked against the bytes held.
class ElfImage {
 public:
  /// From the bytes of a file, which it keeps alive.
  [[nodiscard]] static Result<std::shared_ptr<const ElfImage>> from_file(std::shared_ptr<const FileBytes> file);
  /// From a loaded image whose ELF header lies at `base` (vDSO, deleted file, memory-only image). Copies the
  /// readable loaded segments, at most `limit` bytes.
  [[nodiscard]] static Result<std::shared_ptr<const ElfImage>> from_memory(const MemoryReader& memory, Address base,
                                                                           std::size_t limit = 64u << 20);
  virtual ~ElfImage() = default;

  [[nodiscard]] virtual Arch arch() const = 0;
  [[nodiscard]] virtual std::uint16_t machine() const = 0;  ///< e_machine
  [[nodiscard]] virtual bool is_64_bit() const = 0;
  [[nodiscard]] virtual std::uint16_t type() const = 0;  ///< ET_EXEC, ET_DYN, ...
  [[nodiscard]] virtual std::uint64_t entry() const = 0;
  [[nodiscard]] virtual const BuildId& build_id() const = 0;
  [[nodiscard]] virtual std::span<const Segment> segments() const = 0;
  /// The first section of that name with its bytes, decompressed where SHF_COMPRESSED (`size` is then the real size).
  [[nodiscard]] virtual std::optional<Section> section(std::string_view name) const = 0;
  /// All section headers, in file order, without bytes. Empty when the image has none that are sane.
  [[nodiscard]] virtual std::span<const Section> sections() const = 0;
  /// The same section with its bytes. `section` must come from `sections()` of this image.
  [[nodiscard]] virtual Section load(const Section& section) const = 0;
  /// `size` bytes at a link-time address, or empty when they are not all in the file part of one segment.
  [[nodiscard]] virtual std::span<const std::byte> bytes_at(std::uint64_t address, std::size_t size) const = 0;
  [[nodiscard]] virtual UnwindSections unwind_sections() const = 0;
  /// Link-time address of a defined dynamic symbol (through .gnu.hash, else by a scan), any version.
  [[nodiscard]] virtual std::optional<std::uint64_t> dynamic_symbol(std::string_view name) const = 0;
};

}  // namespace mixstack::images
