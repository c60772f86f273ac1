#include "engine/images/symbol_table_builder.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "engine/images/elf_dynamic.h"
#include "engine/images/plt_stubs.h"

namespace mixstack::images {
namespace {

constexpr std::size_t kMaxSymbols = 1u << 22;
constexpr std::size_t kMaxTables = 16;
constexpr std::size_t kComparedBytes = 256;  // of names of aliases; forged tables must not make this quadratic
constexpr std::size_t kMaxSections = 1u << 19;
constexpr std::uint8_t kGnuUnique = 10;  // STB_GNU_UNIQUE

bool is_function(unsigned type) { return type == STT_FUNC || type == STT_GNU_IFUNC; }

/// Function before label, then global, weak, local.
unsigned rank_of(unsigned type, unsigned binding) {
  const unsigned base = is_function(type) ? 0 : 3;
  if (binding == STB_GLOBAL || binding == kGnuUnique) return base;
  return base + (binding == STB_WEAK ? 1 : 2);
}

/// "$x", "$d.12": the kind of code or data at an address, not its name (ELF for the Arm Architecture).
bool is_mapping_symbol(std::string_view name) {
  return name.size() >= 2 && name[0] == '$' && std::string_view("xdat").find(name[1]) != std::string_view::npos &&
         (name.size() == 2 || name[2] == '.');
}

std::size_t leading_underscores(std::string_view name) { return std::min(name.find_first_not_of('_'), name.size()); }

/// The front of a name: enough to compare aliases by.
std::string_view string_at(std::span<const std::byte> strings, std::uint32_t offset) {
  if (offset >= strings.size()) return {};
  const std::size_t size = std::min(strings.size() - offset, kComparedBytes);
  const auto* text = reinterpret_cast<const char*>(strings.data() + offset);
  return {text, ::strnlen(text, size)};
}

}  // namespace

SymbolTableBuilder::SymbolTableBuilder(SymbolSources sources) : table_(new SymbolTable()) {
  table_->sources_ = std::move(sources);
}

std::shared_ptr<SymbolTable> SymbolTableBuilder::build() {
  const auto& sources = table_->sources_;
  if (!sources.image) return std::move(table_);
  std::uint64_t base = ~std::uint64_t{0};
  for (const auto& s : sources.image->segments())
    if (s.type == PT_LOAD) base = std::min(base, s.vaddr);
  table_->base_ = base == ~std::uint64_t{0} ? 0 : base;
  for (const auto& image : {sources.image, sources.debug, sources.mini})
    if (image) add_image(*image);
  for (const auto& image : {sources.image, sources.debug})
    for (const auto& s : image ? image->sections() : std::span<const Section>())
      table_->is_full_ |= s.type == SHT_SYMTAB && s.size != 0;
  sort();
  table_->starts_.reserve(raw_.size());
  table_->sizes_.reserve(raw_.size());
  table_->entries_.reserve(raw_.size());
  for (std::size_t i = 0; i < raw_.size();) {
    std::size_t end = i + 1;
    while (end < raw_.size() && raw_[end].start == raw_[i].start) end++;
    emit_group(i, end);
    i = end;
  }
  return std::move(table_);
}

void SymbolTableBuilder::add_image(const ElfImage& image) {
  const auto sections = image.sections();
  function_flags_ = arch::cpu(image.arch()).function_flags;
  bool has_dynamic = false;
  for (const auto& s : sections) {
    if ((s.type != SHT_SYMTAB && s.type != SHT_DYNSYM) || s.link >= sections.size()) continue;
    if (table_->strings_.size() >= kMaxTables) return;
    has_dynamic |= s.type == SHT_DYNSYM;
    Section symbols = s;  // read no more than is used
    if ((s.flags & SHF_COMPRESSED) == 0)
      symbols.size = std::min<std::uint64_t>(s.size, kMaxSymbols * sizeof(Elf64_Sym));
    add_table(image, image.load(symbols).bytes, image.load(sections[s.link]).bytes);
  }
  if (has_dynamic || !sections.empty()) return;
  const auto dynamic = read_dynamic(image);  // no section headers: a vDSO, a stripped or memory-only image
  add_table(image, dynamic.symbols, dynamic.strings);
}

void SymbolTableBuilder::add_table(const ElfImage& image, std::span<const std::byte> symbols,
                                   std::span<const std::byte> strings) {
  if (symbols.empty() || strings.empty()) return;
  const auto source = static_cast<std::uint32_t>(table_->strings_.size());
  table_->strings_.push_back(strings);
  auto& ranges = sections_.emplace_back();
  for (const auto& s : image.sections().first(std::min(image.sections().size(), kMaxSections)))
    ranges.push_back({s.address, s.address + s.size, (s.flags & SHF_EXECINSTR) != 0});
  const bool is_marked = arch::cpu(image.arch()).marks_code_with_symbols;
  if (image.is_64_bit()) {
    collect<Elf64_Sym>(symbols, source, is_marked);
  } else {
    collect<Elf32_Sym>(symbols, source, is_marked);
  }
}

template <class Elf>
void SymbolTableBuilder::collect(std::span<const std::byte> symbols, std::uint32_t source, bool has_mapping_symbols) {
  const std::size_t count = std::min(symbols.size() / sizeof(Elf), kMaxSymbols - std::min(kMaxSymbols, raw_.size()));
  raw_.reserve(raw_.size() + count);
  for (std::size_t i = 1; i < count; i++) {
    Elf s;
    std::memcpy(&s, symbols.data() + i * sizeof s, sizeof s);
    const unsigned type = s.st_info & 15u;
    if ((!is_function(type) && type != STT_NOTYPE) || s.st_shndx == SHN_UNDEF || s.st_name == 0) continue;
    if (has_mapping_symbols && type == STT_NOTYPE && is_mapping_symbol(string_at(table_->strings_[source], s.st_name)))
      continue;
    add({s.st_name, s.st_info, s.st_other, s.st_shndx, s.st_value, s.st_size}, source);
  }
}

void SymbolTableBuilder::add(const ElfSymbol& s, std::uint32_t source) {
  const unsigned type = s.info & 15u;
  const std::uint64_t value = is_function(type) ? s.value & ~std::uint64_t{function_flags_} : s.value;
  const std::uint64_t start = value - table_->base_;
  if (start >= 0xffffffffu) return;
  const auto& ranges = sections_[source];
  std::uint64_t size = s.size;
  std::uint32_t section = 0;
  if (s.section < ranges.size()) {
    const auto& range = ranges[s.section];
    if (value - range.begin >= range.end - range.begin || (type == STT_NOTYPE && !range.is_code)) return;
    size = std::min(size, range.end - value);
    section = s.section + 1u;
  } else if (type == STT_NOTYPE) {
    return;
  }
  size = std::min<std::uint64_t>(size, 0xffffffffu - start);
  raw_.push_back({static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(size), s.name, section & 0xfffff,
                  source & 0xff, rank_of(type, s.info >> 4) & 15});
}

/// Least significant digit first, by start address; stable. Three passes over 16-byte records beat a comparison sort
/// four times on libc.
void SymbolTableBuilder::sort() {
  constexpr unsigned kBits = 11;
  constexpr std::size_t kDigits = std::size_t{1} << kBits;
  if (raw_.size() < kDigits / 8) {
    std::stable_sort(raw_.begin(), raw_.end(), [](const Raw& a, const Raw& b) { return a.start < b.start; });
    return;
  }
  std::array<std::array<std::uint32_t, kDigits>, 3> counts{};
  for (const auto& r : raw_)
    for (unsigned pass = 0; pass < 3; pass++) counts[pass][r.start >> (pass * kBits) & (kDigits - 1)]++;
  scratch_.resize(raw_.size());
  for (unsigned pass = 0; pass < 3; pass++) {
    const auto digit = [&](const Raw& r) { return r.start >> (pass * kBits) & (kDigits - 1); };
    if (counts[pass][digit(raw_[0])] == raw_.size()) continue;
    std::uint32_t sum = 0;
    for (auto& c : counts[pass]) sum += std::exchange(c, sum);
    for (const auto& r : raw_) scratch_[counts[pass][digit(r)]++] = r;
    raw_.swap(scratch_);
  }
}

/// One entry per address; a second where another symbol there reaches further than the one that gives the name.
void SymbolTableBuilder::emit_group(std::size_t first, std::size_t end) {
  std::size_t best = first, longest = first;
  for (std::size_t i = first + 1; i < end; i++) {
    if (raw_[i].size > raw_[longest].size || (raw_[i].size == raw_[longest].size && wins(raw_[i], raw_[longest])))
      longest = i;
    if (wins(raw_[i], raw_[best])) best = i;
  }
  const Raw& name = raw_[best];
  if (name.size != 0 && raw_[longest].size > name.size) push(raw_[longest], raw_[longest].size);
  const std::uint32_t size = name.size != 0 ? name.size : raw_[longest].size;
  push(name, size != 0 ? size : unsized_reach(name, end));
}

std::uint32_t SymbolTableBuilder::unsized_reach(const Raw& raw, std::size_t next) const {
  std::uint32_t reach = table_->is_full_ ? SymbolTable::kMaxUnsized : SymbolTable::kMaxUnsizedPartial;
  if (next < raw_.size()) reach = std::min(reach, raw_[next].start - raw.start);
  if (raw.section != 0) {
    const auto& range = sections_[raw.source][raw.section - 1];
    reach = static_cast<std::uint32_t>(std::min<std::uint64_t>(reach, range.end - table_->base_ - raw.start));
  }
  return reach;
}

void SymbolTableBuilder::push(const Raw& raw, std::uint32_t size) {
  auto& entries = table_->entries_;
  auto& starts = table_->starts_;
  const std::uint64_t end = std::uint64_t{raw.start} + size;
  std::uint32_t enclosing = entries.empty() ? SymbolTable::kNone : static_cast<std::uint32_t>(entries.size() - 1);
  while (enclosing != SymbolTable::kNone && std::uint64_t{starts[enclosing]} + table_->sizes_[enclosing] <= end)
    enclosing = entries[enclosing].enclosing;
  starts.push_back(raw.start);
  table_->sizes_.push_back(size);
  entries.push_back({raw.name, enclosing, raw.source});
}

bool SymbolTableBuilder::wins(const Raw& a, const Raw& b) const {
  if (a.rank != b.rank) return a.rank < b.rank;
  if (a.source == b.source && a.name == b.name) return a.size > b.size;
  const auto x = name_of(a), y = name_of(b);
  const auto ux = leading_underscores(x), uy = leading_underscores(y);
  if (ux != uy) return ux < uy;
  return x != y ? x < y : a.size > b.size;
}

std::string_view SymbolTableBuilder::name_of(const Raw& raw) const {
  return string_at(table_->strings_[raw.source], raw.name);
}

}  // namespace mixstack::images
