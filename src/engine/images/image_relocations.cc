#include "engine/images/image_relocations.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"

namespace mixstack::images {
namespace {

// Names that older <elf.h> lack (gABI, "Relative relocations"; since 2022).
constexpr std::uint64_t kDtRelrSize = 35, kDtRelr = 36;
constexpr std::size_t kRelaEntry = 24, kWord = 8;
constexpr std::size_t kMaxDynamicEntries = 1024;
// PE Format, "The .reloc Section": IMAGE_REL_BASED_DIR64.
constexpr unsigned kDir64 = 10;
constexpr std::uint32_t kLastPage = 0xfffff000;

struct Tables {
  std::uint64_t rela = 0, rela_size = 0, plt = 0, plt_size = 0, relr = 0, relr_size = 0;
  bool plt_is_rela = true;
};

[[nodiscard]] std::span<const std::byte> bytes_of(const ElfImage& image, std::uint64_t address, std::uint64_t size) {
  return size == 0 ? std::span<const std::byte>{} : image.bytes_at(address, static_cast<std::size_t>(size));
}

[[nodiscard]] Tables read_tables(const ElfImage& image) {
  Tables t;
  const auto segments = image.segments();
  const auto dynamic =
      std::find_if(segments.begin(), segments.end(), [](const Segment& s) { return s.type == PT_DYNAMIC; });
  if (dynamic == segments.end()) return t;
  base::ByteCursor c(bytes_of(image, dynamic->vaddr, dynamic->file_size));
  for (std::size_t i = 0; i < kMaxDynamicEntries && c.remaining() >= 16; i++) {
    const std::uint64_t tag = c.u64(), value = c.u64();
    if (tag == DT_NULL) break;
    if (tag == DT_RELA) t.rela = value;
    if (tag == DT_RELASZ) t.rela_size = value;
    if (tag == DT_JMPREL) t.plt = value;
    if (tag == DT_PLTRELSZ) t.plt_size = value;
    if (tag == DT_PLTREL) t.plt_is_rela = value == DT_RELA;
    if (tag == kDtRelr) t.relr = value;
    if (tag == kDtRelrSize) t.relr_size = value;
  }
  return t;
}

void read_rela(std::span<const std::byte> table, std::uint32_t relative, std::vector<Relocation>& out) {
  base::ByteCursor c(table);
  out.reserve(out.size() + std::min(table.size() / kRelaEntry, kMaxRelocations - out.size()));
  while (c.remaining() >= kRelaEntry && out.size() < kMaxRelocations) {
    const std::uint64_t address = c.u64(), info = c.u64(), addend = c.u64();
    const auto type = static_cast<std::uint32_t>(info);
    if (type != 0) out.push_back({address, addend, type == relative});
  }
}

/// The end of the image in memory; at most half of all addresses, so that sums below cannot wrap.
[[nodiscard]] std::uint64_t end_of(const ElfImage& image) {
  constexpr std::uint64_t kMax = std::uint64_t{1} << 63;
  std::uint64_t end = 0;
  for (const Segment& s : image.segments())
    if (s.type == PT_LOAD && s.vaddr < kMax) end = std::max(end, s.vaddr + std::min(s.memory_size, kMax - s.vaddr));
  return end;
}

/// DT_RELR: an even word is an address, an odd one a bitmap of the 63 words behind the last (gABI). A table that leads
/// out of the image, or starts with a bitmap, is damaged.
void read_relr(const ElfImage& image, std::span<const std::byte> table, std::vector<Relocation>& out) {
  base::ByteCursor c(table);
  const std::uint64_t end = end_of(image);
  std::uint64_t next = end;
  const auto add = [&](std::uint64_t address) {
    if (out.size() >= kMaxRelocations) return;  // a bitmap stands for many
    const auto stored = base::load_at<std::uint64_t>(image.bytes_at(address, kWord), 0);
    if (stored) out.push_back({address, *stored, true});
  };
  while (c.remaining() >= kWord && out.size() < kMaxRelocations) {
    const std::uint64_t entry = c.u64();
    if ((entry & 1) == 0) {
      if (entry >= end) return;
      add(entry);
      next = entry + kWord;
      continue;
    }
    if (next >= end) return;
    for (unsigned bit = 1; bit < 64; bit++)
      if ((entry >> bit & 1) != 0) add(next + (bit - 1) * kWord);
    next += 63 * kWord;
  }
}

/// Words of an image, read a page at a time, because neighbours are asked for one after the other.
class PageWords {
 public:
  explicit PageWords(const PeImage& image) : image_(image) {}
  [[nodiscard]] std::optional<std::uint64_t> at(std::uint32_t rva) {
    const std::uint32_t page = rva / kPage * kPage;
    if (page != page_) {
      page_ = page;
      is_whole_ = image_.read(page, bytes_).has_value();
    }
    if (is_whole_ && rva - page <= kPage - kWord) return base::load_at<std::uint64_t>(bytes_, rva - page);
    std::uint64_t word = 0;  // at the ends of sections and pages
    if (!image_.read(rva, std::as_writable_bytes(std::span(&word, 1)))) return std::nullopt;
    return word;
  }

 private:
  static constexpr std::uint32_t kPage = 4096;
  const PeImage& image_;
  std::array<std::byte, kPage> bytes_{};
  std::uint32_t page_ = ~std::uint32_t{0};
  bool is_whole_ = false;
};

[[nodiscard]] bool is_lower(const Relocation& a, const Relocation& b) { return a.address < b.address; }

/// Linkers write a few long runs in order, and some that are ordered by symbol instead.
void put_in_order(std::vector<Relocation>& list) {
  constexpr int kMaxMerges = 4;
  auto sorted = std::is_sorted_until(list.begin(), list.end(), is_lower);
  for (int merges = 0; sorted != list.end(); merges++) {
    auto end = std::is_sorted_until(sorted, list.end(), is_lower);
    if (merges == kMaxMerges || end - sorted < (list.end() - sorted) / 4) {
      end = list.end();
      std::stable_sort(sorted, end, is_lower);
    }
    std::inplace_merge(list.begin(), sorted, end, is_lower);
    sorted = end;
  }
  list.erase(std::unique(list.begin(), list.end(),
                         [](const Relocation& a, const Relocation& b) { return a.address == b.address; }),
             list.end());
}

}  // namespace

std::vector<Relocation> read_relocations(const ElfImage& image) {
  std::vector<Relocation> out;
  if (!image.is_64_bit()) return out;
  const Tables t = read_tables(image);
  const std::uint32_t relative = arch::cpu(image.arch()).elf.relative;
  read_relr(image, bytes_of(image, t.relr, t.relr_size), out);
  read_rela(bytes_of(image, t.rela, t.rela_size), relative, out);
  if (t.plt_is_rela) read_rela(bytes_of(image, t.plt, t.plt_size), relative, out);
  put_in_order(out);
  return out;
}

std::vector<Relocation> read_relocations(const PeImage& image) {
  std::vector<Relocation> out;
  PageWords words(image);
  const PeDirectory directory = image.directory(PeDirectoryId::base_relocation);
  if (directory.empty() || directory.size > kMaxRelocations * 2) return out;
  std::vector<std::byte> table(directory.size);
  if (!image.read(directory.rva, table)) return out;
  base::ByteCursor c(table);
  while (c.remaining() >= 8 && out.size() < kMaxRelocations) {
    const std::uint32_t page = c.u32(), size = c.u32();
    if (size < 8 || size - 8 > c.remaining() || page > kLastPage) break;
    for (std::uint32_t i = 0; i < (size - 8) / 2 && out.size() < kMaxRelocations; i++) {
      const std::uint16_t entry = c.u16();
      if (entry >> 12 != kDir64) continue;
      const std::uint32_t rva = page + (entry & 0xfffU);
      if (const auto stored = words.at(rva)) out.push_back({rva, *stored - image.preferred_base(), true});
    }
  }
  put_in_order(out);
  return out;
}

void apply_relocations(const std::vector<Relocation>& relocations, std::uint64_t load_bias, std::uint64_t address,
                       std::span<std::byte> bytes) {
  const std::uint64_t from = address < kWord ? 0 : address - kWord + 1;
  auto r = std::partition_point(relocations.begin(), relocations.end(),
                                [from](const Relocation& x) { return x.address < from; });
  for (; r != relocations.end() && r->address < address + bytes.size(); ++r) {
    const std::uint64_t value = r->known ? r->value + load_bias : 0;
    std::array<std::byte, kWord> word{};
    std::memcpy(word.data(), &value, kWord);
    for (std::size_t i = 0; i < kWord; i++) {
      const std::uint64_t at = r->address + i - address;
      if (at < bytes.size()) bytes[static_cast<std::size_t>(at)] = word[i];
    }
  }
}

}  // namespace mixstack::images
