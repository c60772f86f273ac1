// From ELF symbol tables to one sorted table (SymbolTable::build).
#pragma once

#include "engine/images/elf_headers.h"
#include "engine/images/symbol_table.h"

namespace mixstack::images {

/// Collects, sorts, picks among aliases. Single use.
class SymbolTableBuilder {
 public:
  explicit SymbolTableBuilder(SymbolSources sources);
  [[nodiscard]] std::shared_ptr<SymbolTable> build();

 private:
  /// A symbol as collected: 16 bytes, since sorting moves them.
  struct Raw {
    std::uint32_t start;
    std::uint32_t size;  // 0: unsized
    std::uint32_t name;
    std::uint32_t section : 20;  // index + 1 into sections_ of the source, 0: unknown
    std::uint32_t source : 8;
    std::uint32_t rank : 4;  // lower wins
  };
  /// The fields of a section header that the collecting loop needs, apart for speed.
  struct SectionRange {
    std::uint64_t begin = 0, end = 0;
    bool is_code = false;
  };

  void add_image(const ElfImage& image);
  void add_table(const ElfImage& image, std::span<const std::byte> symbols, std::span<const std::byte> strings);
  template <class Elf>
  void collect(std::span<const std::byte> symbols, std::uint32_t source, bool has_mapping_symbols);
  void add(const ElfSymbol& symbol, std::uint32_t source);
  void sort();
  void emit_group(std::size_t first, std::size_t end);
  void push(const Raw& raw, std::uint32_t size);
  [[nodiscard]] bool wins(const Raw& a, const Raw& b) const;
  [[nodiscard]] std::string_view name_of(const Raw& raw) const;
  [[nodiscard]] std::uint32_t unsized_reach(const Raw& raw, std::size_t next) const;

  std::shared_ptr<SymbolTable> table_;
  std::vector<Raw> raw_, scratch_;
  std::vector<std::vector<SectionRange>> sections_;  // by source
  std::uint32_t function_flags_ = 0;
};

}  // namespace mixstack::images
