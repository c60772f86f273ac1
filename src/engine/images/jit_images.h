// Images of generated code that a program shows to debuggers: GDB's JIT compilation interface.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/images/elf_image.h"
#include "mixstack/memory_reader.h"

namespace mixstack::images {

/// One ELF image in the target's memory that describes code elsewhere in it. Its addresses are the target's: its
/// section headers hold the loaded addresses. Immutable.
class JitImage {
 public:
  struct Symbol {
    Address begin = 0, end = 0;
    std::string_view name;  ///< owned by the image
    bool is_function = false;
  };

  /// `bytes` are those of the image; `memory` is asked for unwind information that was relocated where it is loaded (an
  /// object file's own copy of it is not). Errors: `malformed`, `truncated`, `unsupported` (no ELF, or of another CPU),
  /// `not_found` (it describes no code).
  [[nodiscard]] static Result<std::shared_ptr<const JitImage>> read(std::vector<std::byte> bytes, Arch arch,
                                                                    const MemoryReader& memory);

  /// The image at addresses of the target, unwind information included.
  [[nodiscard]] const std::shared_ptr<const ElfImage>& elf() const { return elf_; }
  /// The ranges of its code, ascending.
  [[nodiscard]] std::span<const AddressRange> code() const { return code_; }
  [[nodiscard]] std::optional<Symbol> find(Address address) const;

 private:
  JitImage() = default;
  void read_code();
  void read_symbols(const Section& table, const Section& strings);
  void add_symbol(std::span<const std::byte> table, std::size_t index, std::span<const std::byte> strings);

  std::shared_ptr<const ElfImage> elf_;
  std::vector<AddressRange> code_;
  std::vector<Symbol> symbols_;  ///< by begin
};

/// The images of one process at one moment. Immutable, so that any number of walkers share it.
class JitImages {
 public:
  /// Limits for the lists: they may be circular or endless, and images may claim any size.
  struct Limits {
    std::size_t entries = 1 << 16;
    std::size_t image_bytes = std::size_t{32} << 20;
    std::size_t all_bytes = std::size_t{128} << 20;  ///< of all images together
  };
  /// Follows the lists at these addresses (`__jit_debug_descriptor`). Images whose bytes have not changed are taken
  /// from `before` (may be null). If code of two overlaps, the one nearer to the list's head counts, because it was
  /// registered later. A list that cannot be read, or is of another version, is empty.
  [[nodiscard]] static std::shared_ptr<const JitImages> read(const MemoryReader& memory,
                                                             std::span<const Address> descriptors, Arch arch,
                                                             const JitImages* before, const Limits& limits);

  [[nodiscard]] std::span<const std::shared_ptr<const JitImage>> images() const { return images_; }
  /// The image whose code contains the address; null: none.
  [[nodiscard]] const JitImage* find(Address address) const;

 private:
  struct Known {
    Address address = 0;  ///< of its bytes
    std::uint64_t hash = 0;
    std::size_t size = 0;
    std::shared_ptr<const JitImage> image;  ///< null: no image that we understand
  };
  struct Place {
    AddressRange range;
    const JitImage* image = nullptr;
  };
  class Reader;

  std::vector<Known> known_;  ///< by address
  std::vector<std::shared_ptr<const JitImage>> images_;
  std::vector<Place> places_;  ///< by begin, disjoint
};

/// Link-time address of a data symbol, from the dynamic table, else from .symtab. `budget` bounds the bytes of the
/// tables, and is lowered by those that were read.
[[nodiscard]] std::optional<std::uint64_t> find_data_symbol(const ElfImage& image, std::string_view name,
                                                            std::size_t& budget);

}  // namespace mixstack::images
