#include "unwind/prologue/code_functions.h"

#include <elf.h>

#include <algorithm>
#include <span>

#include "base/byte_cursor.h"
#include "unwind/prologue/decoder.h"

namespace mixstack::unwind {
namespace {

using prologue::Effect;
using prologue::Instruction;

constexpr std::uint64_t kAlignment = 16;
constexpr std::size_t kMostEntries = 1u << 20;

/// What one pass over the code of a range tells.
struct Found {
  std::vector<std::uint64_t> called, made, ends;  ///< `ends`: where code begins behind code that does not go on
  std::vector<std::uint64_t> padded;              ///< those among `ends` that padding was put before
  struct Jump {
    std::uint64_t from, to;
    bool is_conditional;
  };
  std::vector<Jump> jumps;
  std::vector<std::uint64_t> tables;  ///< jumps to where data say
};

[[nodiscard]] bool has(const std::vector<std::uint64_t>& sorted, std::uint64_t value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}
void sort(std::vector<std::uint64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}
/// Whether an element lies in [begin, end].
[[nodiscard]] bool any_in(const std::vector<std::uint64_t>& sorted, std::uint64_t begin, std::uint64_t end) {
  const auto it = std::lower_bound(sorted.begin(), sorted.end(), begin);
  return it != sorted.end() && *it <= end;
}

class Pass {
 public:
  Pass(Arch arch, std::span<const std::byte> code, std::uint64_t address, Found& found)
      : arch_(arch), decode_(prologue::kDecoders[arch]), code_(code), address_(address), found_(found) {}

  void run() {
    found_.ends.push_back(address_);
    for (std::size_t at = 0; at < code_.size();) {
      const auto rest = code_.subspan(at);
      const Instruction i = decode_(rest);
      if (i.length == 0) {  // data, or a form nobody knows: goes on with what follows
        at += arch_ == Arch::x86_64 ? 1 : 4;
        has_ended_ = true;
        continue;
      }
      const std::uint64_t here = address_ + at;
      if (i.is_padding) {
        is_padded_ = true;
      } else {
        note(i, here);
      }
      at += i.length;
    }
  }

 private:
  void note(const Instruction& i, std::uint64_t here) {
    if (has_ended_) {
      found_.ends.push_back(here);
      if (is_padded_ && here % kAlignment == 0) found_.padded.push_back(here);
    }
    is_padded_ = false;
    has_ended_ = i.effect == Effect::end || i.effect == Effect::trap || i.effect == Effect::jump;
    // Functions that do not return are called last, and padding follows.
    if (i.effect == Effect::call) has_ended_ = true;
    if (!i.target) {
      if (i.effect == Effect::jump && !i.is_tail_call) found_.tables.push_back(here);
      return;
    }
    const std::uint64_t to = here + static_cast<std::uint64_t>(*i.target);
    switch (i.effect) {
      case Effect::call:
        found_.called.push_back(to);
        break;
      case Effect::jump:
      case Effect::branch:
        found_.jumps.push_back({here, to, i.effect == Effect::branch});
        break;
      default:
        found_.made.push_back(to);
    }
  }

  Arch arch_;
  prologue::Decoder decode_;
  std::span<const std::byte> code_;
  std::uint64_t address_;
  Found& found_;
  bool has_ended_ = false, is_padded_ = false;
};

/// Calls `take` with each entry of the image's sections of a type.
template <class Entry, class Take>
void each_entry(const object::ElfImage& image, std::uint32_t type, Take take) {
  for (const object::Section& s : image.sections()) {
    if (s.type != type || s.size > kMostEntries * sizeof(Entry)) continue;
    const auto bytes = image.load(s).bytes;
    for (std::size_t at = 0; at + sizeof(Entry) <= bytes.size(); at += sizeof(Entry))
      if (const auto entry = base::load_at<Entry>(bytes, at)) take(*entry);
  }
}

/// What data point to, as the dynamic linker is told: relocations that only add where the image was loaded.
[[nodiscard]] std::vector<std::uint64_t> pointers_of(const object::ElfImage& image) {
  const std::uint32_t relative = image.arch() == Arch::x86_64 ? R_X86_64_RELATIVE : R_AARCH64_RELATIVE;
  std::vector<std::uint64_t> pointers;
  each_entry<Elf64_Rela>(image, SHT_RELA, [&](const Elf64_Rela& r) {
    if (ELF64_R_TYPE(r.r_info) == relative) pointers.push_back(static_cast<std::uint64_t>(r.r_addend));
  });
  return pointers;
}

[[nodiscard]] std::vector<std::uint64_t> symbols_of(const object::ElfImage& image) {
  std::vector<std::uint64_t> starts;
  for (const std::uint32_t type : {std::uint32_t{SHT_DYNSYM}, std::uint32_t{SHT_SYMTAB}})
    each_entry<Elf64_Sym>(image, type, [&](const Elf64_Sym& s) {
      if (ELF64_ST_TYPE(s.st_info) == STT_FUNC && s.st_shndx != SHN_UNDEF) starts.push_back(s.st_value);
    });
  return starts;
}

/// Executable pieces of the file.
[[nodiscard]] std::vector<AddressRange> code_of(const object::ElfImage& image) {
  std::vector<AddressRange> code;
  for (const object::Section& s : image.sections())
    if ((s.flags & SHF_EXECINSTR) != 0 && s.type == SHT_PROGBITS) code.push_back({s.address, s.address + s.size});
  if (!code.empty()) return code;
  for (const object::Segment& s : image.segments())
    if (s.type == PT_LOAD && (s.flags & PF_X) != 0) code.push_back({s.vaddr, s.vaddr + s.file_size});
  return code;
}

}  // namespace

CodeFunctions::CodeFunctions(const object::ElfImage& image) {
  if (prologue::kDecoders[image.arch()] == nullptr) return;
  Found found;
  std::size_t total = 0;
  for (const AddressRange& range : code_of(image)) {
    if (range.end < range.begin || range.size() > kMostCode - total) continue;
    const auto bytes = image.bytes_at(range.begin, range.size());
    if (bytes.empty()) continue;
    total += bytes.size();
    code_.push_back(range);
    Pass(image.arch(), bytes, range.begin, found).run();
  }
  std::sort(code_.begin(), code_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  const auto is_code = [&](std::uint64_t address) {
    return std::any_of(code_.begin(), code_.end(), [&](const AddressRange& r) { return r.contains(address); });
  };
  sort(found.ends);
  starts_ = symbols_of(image);
  for (const AddressRange& range : code_) starts_.push_back(range.begin);
  for (const std::uint64_t to : found.called)
    if (has(found.ends, to)) starts_.push_back(to);
  for (const std::uint64_t to : found.made)
    if (has(found.ends, to)) starts_.push_back(to);
  for (const std::uint64_t to : pointers_of(image))
    if (has(found.ends, to)) starts_.push_back(to);
  std::erase_if(starts_, [&](std::uint64_t a) { return !is_code(a); });
  sort(starts_);
  // A jump over the start of a function leaves its own, and ends where another begins.
  std::vector<std::uint64_t> more, targets;
  for (const Found::Jump& j : found.jumps) {
    targets.push_back(j.to);
    const bool leaves = j.to > j.from ? any_in(starts_, j.from + 1, j.to) : any_in(starts_, j.to + 1, j.from);
    if (leaves && !j.is_conditional && has(found.ends, j.to) && is_code(j.to)) more.push_back(j.to);
  }
  starts_.insert(starts_.end(), more.begin(), more.end());
  sort(starts_);
  sort(targets);
  sort(found.tables);
  more.clear();
  for (const std::uint64_t at : found.padded) {
    if (has(targets, at) || has(starts_, at)) continue;
    // Behind a jump to where data say lie the places that it goes to.
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), at);
    const std::uint64_t own = next == starts_.begin() ? 0 : *std::prev(next);
    if (!any_in(found.tables, own, at)) more.push_back(at);
  }
  starts_.insert(starts_.end(), more.begin(), more.end());
  sort(starts_);
}

std::uint64_t code_size_of(const object::ElfImage& image) {
  std::uint64_t size = 0;
  for (const AddressRange& range : code_of(image)) size += range.end - range.begin;
  return size;
}

std::optional<AddressRange> CodeFunctions::around(std::uint64_t address) const {
  for (const AddressRange& range : code_) {
    if (!range.contains(address)) continue;
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), address);
    if (next == starts_.begin() || *std::prev(next) < range.begin) return std::nullopt;
    return AddressRange{*std::prev(next), next == starts_.end() ? range.end : std::min(*next, range.end)};
  }
  return std::nullopt;
}

}  // namespace mixstack::unwind
