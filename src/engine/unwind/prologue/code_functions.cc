#include "engine/unwind/prologue/code_functions.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"
#include "engine/images/image_relocations.h"
#include "engine/unwind/prologue/decoder.h"

namespace mixstack::unwind {
namespace {

using prologue::Effect;
using prologue::Instruction;

constexpr std::uint64_t kAlignment = 16;
constexpr std::size_t kMostSymbols = 1u << 20, kMostPieces = 64;

/// The result of one pass over the code of a range.
struct Found {
  std::vector<std::uint64_t> called, ends;  ///< `ends`: starts of code behind code that does not continue
  std::vector<std::uint64_t> openings;      ///< those of `ends` behind padding, or with a frame's first instruction
  struct Jump {
    std::uint64_t from, to;
    bool is_conditional;
  };
  std::vector<Jump> jumps, made, near;  ///< addresses made, by AArch64's adr (near) and else
  std::vector<std::uint64_t> tables;    ///< jumps through a table
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
      : decode_(prologue::kDecoders[arch]),
        sp_(arch::cpu(arch).has_link_register() ? static_cast<std::uint8_t>(arch::cpu(arch).registers.sp)
                                                : prologue::kNoRegister),
        code_(code),
        address_(address),
        found_(found) {}

  void run() {
    found_.ends.push_back(address_);
    for (std::size_t at = 0; at < code_.size();) {
      const auto rest = code_.subspan(at);
      const Instruction i = decode_(rest);
      if (i.length == 0) {  // data, or an unknown instruction: continue with the next byte
        at++;
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
      if ((is_padded_ && here % kAlignment == 0) || opens_frame(i)) found_.openings.push_back(here);
    }
    is_padded_ = false;
    note_pages(i, here);
    has_ended_ = i.effect == Effect::end || i.effect == Effect::trap || i.effect == Effect::jump;
    // A call of a function that does not return comes last, and padding follows.
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
        (sp_ == prologue::kNoRegister ? found_.made : found_.near).push_back({here, to, false});
    }
  }

  /// Whether an instruction makes a frame. On AArch64 alone, whose functions have no alignment of their own: code that
  /// starts so behind an end, and to which nothing jumps, can only be a function.
  [[nodiscard]] bool opens_frame(const Instruction& i) const {
    if (sp_ == prologue::kNoRegister) return false;
    const bool moves_sp = i.effect == Effect::set_address && i.regs[0] == sp_ && i.base == sp_ && i.offset < 0;
    return moves_sp || i.effect == Effect::sign_lr || (i.effect == Effect::save && i.sp_before < 0);
  }

  /// An address is made of its page and, in a later instruction, the offset in it.
  void note_pages(const Instruction& i, std::uint64_t here) {
    constexpr std::uint64_t kPage = 4096;
    if (i.makes_page) {
      if (i.regs[0] < kRegisters) pages_[i.regs[0]] = here / kPage * kPage + static_cast<std::uint64_t>(i.offset);
      return;
    }
    if (i.effect == Effect::set_address && i.base < kRegisters && pages_[i.base])
      found_.made.push_back({here, *pages_[i.base] + static_cast<std::uint64_t>(i.offset), false});
    if (i.effect == Effect::save) return;
    for (const std::uint8_t reg : i.regs)
      if (reg < kRegisters) pages_[reg].reset();
  }

  static constexpr std::size_t kRegisters = 31;

  prologue::Decoder decode_;
  std::uint8_t sp_;  ///< kNoRegister where first instructions of frames are not used
  std::span<const std::byte> code_;
  std::uint64_t address_;
  Found& found_;
  bool has_ended_ = false, is_padded_ = false;
  std::array<std::optional<std::uint64_t>, kRegisters> pages_;
};

/// The targets of the image's pointers: relocations that only add the load bias.
[[nodiscard]] std::vector<std::uint64_t> pointers_of(const images::ElfImage& image) {
  std::vector<std::uint64_t> pointers;
  for (const images::Relocation& r : images::read_relocations(image))
    if (r.known) pointers.push_back(r.value);
  return pointers;
}

[[nodiscard]] std::vector<std::uint64_t> symbols_of(const images::ElfImage& image) {
  std::vector<std::uint64_t> starts;
  std::size_t left = kMostSymbols;
  for (const images::Section& s : image.sections()) {
    if ((s.type != SHT_DYNSYM && s.type != SHT_SYMTAB) || s.size / sizeof(Elf64_Sym) > left) continue;
    left -= static_cast<std::size_t>(s.size / sizeof(Elf64_Sym));
    const auto bytes = image.load(s).bytes;
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= bytes.size(); at += sizeof(Elf64_Sym)) {
      const auto symbol = base::load_at<Elf64_Sym>(bytes, at);
      if (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF)
        starts.push_back(symbol->st_value);
    }
  }
  return starts;
}

/// Executable pieces of the file.
[[nodiscard]] std::vector<AddressRange> code_of(const images::ElfImage& image) {
  std::vector<AddressRange> code;
  for (const images::Section& s : image.sections())
    if ((s.flags & SHF_EXECINSTR) != 0 && s.type == SHT_PROGBITS) code.push_back({s.address, s.address + s.size});
  if (!code.empty()) return code;
  for (const images::Segment& s : image.segments())
    if (s.type == PT_LOAD && (s.flags & PF_X) != 0) code.push_back({s.vaddr, s.vaddr + s.file_size});
  return code;
}

}  // namespace

CodeFunctions::CodeFunctions(const images::ElfImage& image) {
  if (prologue::kDecoders[image.arch()] == nullptr) return;
  Found found;
  std::size_t total = 0;
  for (const AddressRange& range : code_of(image)) {
    if (range.end < range.begin || range.size() > kMostCode - total || code_.size() == kMostPieces) continue;
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
  sort(found.tables);
  for (const Found::Jump& m : found.made)
    if (has(found.ends, m.to)) starts_.push_back(m.to);
  for (const Found::Jump& m : found.near) {
    // Targets of a jump through a table are relative to the first of them, which follows the jump.
    const bool is_of_table = m.from < m.to && any_in(found.tables, m.from, m.to);
    if (has(found.ends, m.to) && !is_of_table) starts_.push_back(m.to);
  }
  for (const std::uint64_t to : pointers_of(image))
    if (has(found.ends, to)) starts_.push_back(to);
  std::erase_if(starts_, [&](std::uint64_t a) { return !is_code(a); });
  sort(starts_);
  // A jump over the start of a function leaves its own; its target is then a function, too.
  std::vector<std::uint64_t> more, targets;
  for (const Found::Jump& j : found.jumps) {
    targets.push_back(j.to);
    const bool leaves = j.to > j.from ? any_in(starts_, j.from + 1, j.to) : any_in(starts_, j.to + 1, j.from);
    if (leaves && !j.is_conditional && has(found.ends, j.to) && is_code(j.to)) more.push_back(j.to);
  }
  starts_.insert(starts_.end(), more.begin(), more.end());
  sort(starts_);
  sort(targets);
  more.clear();
  for (const std::uint64_t at : found.openings) {
    if (has(targets, at) || has(starts_, at)) continue;
    // The targets of a jump through a table follow the jump.
    const auto next = std::upper_bound(starts_.begin(), starts_.end(), at);
    const std::uint64_t own = next == starts_.begin() ? 0 : *std::prev(next);
    if (!any_in(found.tables, own, at)) more.push_back(at);
  }
  starts_.insert(starts_.end(), more.begin(), more.end());
  sort(starts_);
}

std::uint64_t code_size_of(const images::ElfImage& image) {
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
