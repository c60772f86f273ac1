// Names of an ELF image's code addresses.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/images/elf_image.h"

namespace mixstack::images {

/// A function, or part of one, at link-time addresses.
struct Symbol {
  std::string_view name;  ///< as in the symbol table, version cut off; owned by the table
  std::uint64_t address = 0;
  std::uint64_t size = 0;  ///< how far the name reaches: st_size, or a bound when the symbol has none
  bool is_plt = false;     ///< a stub that jumps to `name`; print `name@plt`
};

/// The sources of the symbols of one image. Only `image` is required.
struct SymbolSources {
  std::shared_ptr<const ElfImage> image;
  std::shared_ptr<const ElfImage> debug;  ///< separate debug file (debug_file.h)
  std::shared_ptr<const ElfImage> mini;   ///< MiniDebugInfo (debug_file.h)
  std::string debug_path{};               ///< where `debug` was found
};

/// All function symbols of an image, sorted by address. Immutable and thread-safe; PLT entries are read when an
/// address in a PLT is first asked for. Keeps the images alive.
///
/// Among several symbols at one address a function wins over a label, then global over weak over local, then the name
/// with the fewest leading underscores, then the first in byte order: the same answer in any order of the file.
class SymbolTable {
 public:
  static constexpr std::uint32_t kNone = 0xffffffffu;

  [[nodiscard]] static std::shared_ptr<const SymbolTable> build(SymbolSources sources);
  ~SymbolTable();

  /// The innermost symbol that contains the address. A symbol with a size contains that much and no more; one
  /// without reaches to the next symbol, the end of its section or `kMaxUnsized`, whichever is first. Nothing is ever
  /// named by "the symbol before it".
  [[nodiscard]] std::optional<Symbol> find(std::uint64_t address) const;
  /// The same as a number for `symbol()`, or kNone; does not touch any string. Does not look at PLTs.
  [[nodiscard]] std::uint32_t find_index(std::uint64_t address) const;
  /// `index` must come from `find_index`.
  [[nodiscard]] Symbol symbol(std::uint32_t index) const;

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const SymbolSources& sources() const { return sources_; }
  /// Whether there was a .symtab: without one, most functions have no symbol at all.
  [[nodiscard]] bool is_full() const { return is_full_; }
  /// The separate debug file among its sources; may be null.
  [[nodiscard]] const std::shared_ptr<const ElfImage>& debug_file() const { return sources_.debug; }

  /// Reach of a symbol without a size: with a .symtab, where the next symbol ends it anyway...
  static constexpr std::uint32_t kMaxUnsized = 4096;
  /// ...and without one, where the next symbol is just the next exported one.
  static constexpr std::uint32_t kMaxUnsizedPartial = 16;

 private:
  friend class SymbolTableBuilder;
  struct Entry {
    std::uint32_t name;       // offset in its string table
    std::uint32_t enclosing;  // the nearest earlier entry that reaches beyond this one's end, or kNone
    std::uint32_t source;     // index in strings_
  };
  struct Plt;

  SymbolTable();
  [[nodiscard]] std::string_view name_of(const Entry& e) const;
  [[nodiscard]] std::optional<Symbol> find_plt(std::uint64_t address) const;

  SymbolSources sources_;
  std::vector<std::span<const std::byte>> strings_;
  std::uint64_t base_ = 0;             // starts_ are relative to it
  std::vector<std::uint32_t> starts_;  // ascending
  std::vector<std::uint32_t> sizes_;   // apart from entries_: all that a look-up needs fits the first cache level
  std::vector<Entry> entries_;
  bool is_full_ = false;
  std::unique_ptr<Plt> plt_;
};

}  // namespace mixstack::images
