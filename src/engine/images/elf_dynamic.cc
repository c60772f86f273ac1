#include "engine/images/elf_dynamic.h"

#include <elf.h>

#include <algorithm>

#include "base/system/byte_cursor.h"
#include "engine/images/elf_headers.h"

namespace mixstack::images {
namespace {

constexpr std::size_t kMaxDynamicEntries = 4096;
constexpr std::uint64_t kMaxSymbols = 1u << 22;
constexpr std::uint64_t kMaxChain = 1u << 16;  // real chains are a handful long

std::uint64_t word_at(std::span<const std::byte> bytes, std::uint64_t index, bool is_64_bit) {
  if (is_64_bit) return base::load_at<std::uint64_t>(bytes, index * 8).value_or(0);
  return base::load_at<std::uint32_t>(bytes, index * 4).value_or(0);
}

std::uint32_t u32_at(const ElfImage& image, std::uint64_t address) {
  return base::load_at<std::uint32_t>(image.bytes_at(address, 4), 0).value_or(0);
}

/// The header of .gnu.hash ("DT_GNU_HASH" in the LSB and binutils' bfd/elflink.c): four words, the Bloom filter in
/// words of the class, buckets, chains.
struct GnuHash {
  std::uint32_t bucket_count = 0, first_symbol = 0, bloom_words = 0, bloom_shift = 0;
  std::uint64_t bloom = 0, buckets = 0, chains = 0;
  std::span<const std::byte> bucket_bytes;
};

std::optional<GnuHash> read_gnu_hash(const ElfImage& image, std::uint64_t address) {
  if (address == 0) return std::nullopt;
  base::ByteCursor cursor(image.bytes_at(address, 16));
  GnuHash h;
  h.bucket_count = cursor.u32();
  h.first_symbol = cursor.u32();
  h.bloom_words = cursor.u32();
  h.bloom_shift = cursor.u32();
  if (!cursor.ok() || h.bucket_count == 0 || h.bucket_count > kMaxSymbols || h.bloom_words > kMaxSymbols)
    return std::nullopt;
  h.bloom = address + 16;
  h.buckets = h.bloom + std::uint64_t{h.bloom_words} * (image.is_64_bit() ? 8 : 4);
  h.chains = h.buckets + std::uint64_t{h.bucket_count} * 4;
  h.bucket_bytes = image.bytes_at(h.buckets, std::size_t{h.bucket_count} * 4);
  if (h.bucket_bytes.empty()) return std::nullopt;
  return h;
}

/// .gnu.hash does not hold its number of symbols: it is the end of the last chain.
std::uint64_t gnu_hash_symbol_count(const ElfImage& image, const GnuHash& h) {
  std::uint32_t last = 0;
  for (std::uint64_t i = 0; i < h.bucket_count; i++)
    last = std::max(last, base::load_at<std::uint32_t>(h.bucket_bytes, i * 4).value_or(0));
  if (last < h.first_symbol) return h.first_symbol;
  for (std::uint64_t i = last; i < last + kMaxChain; i++) {
    const auto chain = image.bytes_at(h.chains + (i - h.first_symbol) * 4, 4);
    if (chain.empty()) return i;
    if ((base::load_at<std::uint32_t>(chain, 0).value_or(1) & 1) != 0) return i + 1;
  }
  return 0;
}

std::uint64_t symbol_count(const ElfImage& image, const DynamicTables& t) {
  for (const auto& s : image.sections())
    if (s.type == SHT_DYNSYM) return s.size / symbol_entry_size(image.is_64_bit());
  if (t.sysv_hash != 0) return u32_at(image, t.sysv_hash + 4);  // nchain
  if (const auto h = read_gnu_hash(image, t.gnu_hash)) return gnu_hash_symbol_count(image, *h);
  return 0;
}

bool is_named(const ElfImage& image, const DynamicTables& t, std::uint64_t index, std::string_view name,
              std::uint64_t& value) {
  const auto s = symbol_at(t.symbols, index, image.is_64_bit());
  if (!s || s->section == SHN_UNDEF || s->name >= t.strings.size()) return false;
  const auto rest = t.strings.subspan(s->name);
  if (rest.size() <= name.size() || rest[name.size()] != std::byte{0}) return false;
  if (std::memcmp(rest.data(), name.data(), name.size()) != 0) return false;
  value = s->value;
  return true;
}

std::uint32_t gnu_hash_of(std::string_view name) {
  std::uint32_t h = 5381;
  for (const char c : name) h = h * 33 + static_cast<unsigned char>(c);
  return h;
}

std::optional<std::uint64_t> find_by_gnu_hash(const ElfImage& image, const DynamicTables& t, const GnuHash& h,
                                              std::string_view name) {
  const std::uint32_t hash = gnu_hash_of(name);
  std::uint64_t value = 0;
  const std::uint64_t start =
      base::load_at<std::uint32_t>(h.bucket_bytes, std::uint64_t{hash % h.bucket_count} * 4).value_or(0);
  if (start < h.first_symbol) return std::nullopt;
  const std::uint64_t count = t.symbols.size() / symbol_entry_size(image.is_64_bit());
  for (std::uint64_t i = start; i < std::min(count, start + kMaxChain); i++) {
    const auto chain = base::load_at<std::uint32_t>(image.bytes_at(h.chains + (i - h.first_symbol) * 4, 4), 0);
    if (!chain) return std::nullopt;
    if ((*chain | 1) == (hash | 1) && is_named(image, t, i, name, value)) return value;
    if ((*chain & 1) != 0) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

DynamicTables read_dynamic(const ElfImage& image, bool with_symbols) {
  DynamicTables t;
  std::span<const std::byte> entries;
  const bool wide = image.is_64_bit();
  for (const auto& s : image.segments())
    if (s.type == PT_DYNAMIC) entries = image.bytes_at(s.vaddr, static_cast<std::size_t>(s.file_size));
  const std::size_t count = std::min(entries.size() / (wide ? 16 : 8), kMaxDynamicEntries);
  std::uint64_t strings = 0, strings_size = 0;
  for (std::size_t i = 0; i < count; i++) {
    const std::uint64_t value = word_at(entries, i * 2 + 1, wide);
    switch (word_at(entries, i * 2, wide)) {
      case DT_NULL:
        i = count;
        break;
      case DT_SYMTAB:
        t.symbols_address = value;
        break;
      case DT_STRTAB:
        strings = value;
        break;
      case DT_STRSZ:
        strings_size = value;
        break;
      case DT_GNU_HASH:
        t.gnu_hash = value;
        break;
      case DT_HASH:
        t.sysv_hash = value;
        break;
      case DT_PLTGOT:
        t.plt_got = value;
        break;
      case DT_JMPREL:
        t.plt_relocations = value;
        break;
      case DT_PLTRELSZ:
        t.plt_relocations_size = value;
        break;
      case DT_PLTREL:
        t.plt_relocations_have_addend = value == DT_RELA;
        break;
      default:
        break;
    }
  }
  if (!with_symbols || t.symbols_address == 0) return t;
  t.strings = image.bytes_at(strings, static_cast<std::size_t>(strings_size));
  const std::uint64_t n = std::min(symbol_count(image, t), kMaxSymbols);
  t.symbols = image.bytes_at(t.symbols_address, static_cast<std::size_t>(n) * symbol_entry_size(wide));
  return t;
}

std::optional<std::uint64_t> find_dynamic_symbol(const ElfImage& image, const DynamicTables& tables,
                                                 std::string_view name) {
  if (const auto h = read_gnu_hash(image, tables.gnu_hash)) return find_by_gnu_hash(image, tables, *h, name);
  std::uint64_t value = 0;
  const std::uint64_t end = tables.symbols.size() / symbol_entry_size(image.is_64_bit());
  for (std::uint64_t i = 1; i < end; i++)
    if (is_named(image, tables, i, name, value)) return value;
  return std::nullopt;
}

}  // namespace mixstack::images
