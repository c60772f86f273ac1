// Input: the lists of `struct jit_code_entry` in a target's memory (GDB manual, "JIT Compilation Interface"), each
// entry with an ELF image that the target's own compiler made: LLVM's object files, LuaJIT's and V8's small tables.
//
// Output: for each image the code it describes, its symbols, and an ElfImage whose addresses are the target's.
//
// Algorithm: each list is followed from its head, where new entries are put, so that of two images with the same code
// the newer one counts. In object files (ET_REL) symbols are relative to their sections, and the relocations of their
// unwind information are not applied: the loaded copy at the section's address is taken instead. If that cannot be
// read, the section is cleared, because no unwind information is better than wrong one.
// Bounds: `Limits` for entries and bytes; a list ends at an entry that was visited before; kMostRanges, kMostSymbols,
// kMostName, kMostAliases; unwind information is loaded for as many bytes as the image has. Sections, symbols and names
// are checked by ElfImage and here against the bytes held.
#include "engine/images/jit_images.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <tuple>

#include "engine/images/claimed_ranges.h"
#include "engine/images/elf_headers.h"
#include "engine/images/file_bytes.h"

namespace mixstack::images {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMostRanges = 1 << 12, kMostSymbols = 1 << 20, kMostName = 16 << 10;
constexpr std::uint64_t kMostUnsized = 4096;  // as of symbols without a size in files
constexpr std::size_t kMostAliases = 8;       // symbols looked at for one that contains an address

// As compilers lay them out where a pointer has eight bytes.
struct Descriptor {
  std::uint32_t version, action;
  std::uint64_t relevant_entry, first_entry;
};
struct CodeEntry {
  std::uint64_t next, previous, image, size;
};

/// FNV-1a over words: an image is only compared with its own earlier bytes, so a collision harms only its maker.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325 ^ bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, bytes.size() - at));
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  }
  return hash;
}

bool is_code(const Section& s) {
  return (s.flags & SHF_ALLOC) != 0 && (s.flags & SHF_EXECINSTR) != 0 && s.address != 0 && s.size != 0 &&
         s.address + s.size > s.address;
}

/// By section, whether relocations are to be applied to it.
std::vector<bool> relocated_sections(std::span<const Section> sections) {
  std::vector<bool> all(sections.size());
  for (const Section& s : sections)
    if ((s.type == SHT_RELA || s.type == SHT_REL) && s.size != 0 && s.info < all.size()) all[s.info] = true;
  return all;
}

/// Replaces the unwind information of an object file by the loaded copy. False: its sections overlap.
bool relocate_unwind_information(const ElfImage& draft, const MemoryReader& memory, std::vector<std::byte>& bytes) {
  const auto sections = draft.sections();
  const std::vector<bool> is_relocated = relocated_sections(sections);
  std::uint64_t left = bytes.size();  // sections of their own places are not larger in all
  for (std::size_t i = 0; i < sections.size(); i++) {
    const Section& s = sections[i];
    const bool unwinds = s.name == ".eh_frame" || s.name == ".debug_frame" || s.name == ".eh_frame_hdr";
    if (!unwinds || s.type == SHT_NOBITS || !is_relocated[i]) continue;
    if (s.offset > bytes.size() || bytes.size() - s.offset < s.size) continue;
    if (s.size > left) return false;
    left -= s.size;
    const auto own = std::span(bytes).subspan(static_cast<std::size_t>(s.offset), static_cast<std::size_t>(s.size));
    const bool is_loaded = (s.flags & SHF_ALLOC) != 0 && (s.flags & SHF_COMPRESSED) == 0 && s.address != 0;
    if (!is_loaded || !memory.read_exact(s.address, own)) std::fill(own.begin(), own.end(), std::byte{0});
  }
  return true;
}

std::string_view name_at(std::span<const std::byte> strings, std::uint32_t offset) {
  if (offset >= strings.size()) return {};
  const auto* text = reinterpret_cast<const char*>(strings.data() + offset);
  return {text, ::strnlen(text, std::min(strings.size() - offset, kMostName))};
}

}  // namespace

Result<std::shared_ptr<const JitImage>> JitImage::read(std::vector<std::byte> bytes, Arch arch,
                                                       const MemoryReader& memory) {
  auto draft = ElfImage::from_file(buffer_file_bytes(bytes));
  if (!draft) return fail(draft.error());
  if ((*draft)->arch() != arch) return fail(ErrorCode::unsupported, (*draft)->machine());
  if ((*draft)->type() == ET_REL) {
    if (!relocate_unwind_information(**draft, memory, bytes)) return fail(ErrorCode::malformed);
    draft = ElfImage::from_file(buffer_file_bytes(std::move(bytes)));
    if (!draft) return fail(draft.error());
  }
  std::shared_ptr<JitImage> image(new JitImage());
  image->elf_ = std::move(*draft);
  image->read_code();
  if (image->code_.empty()) return fail(ErrorCode::not_found);
  const auto sections = image->elf_->sections();
  for (const Section& s : sections)
    if (s.type == SHT_SYMTAB && s.link < sections.size() && image->symbols_.empty())
      image->read_symbols(image->elf_->load(s), image->elf_->load(sections[s.link]));
  return image;
}

void JitImage::read_code() {
  for (const Section& s : elf_->sections())
    if (is_code(s) && code_.size() < kMostRanges) code_.push_back({s.address, s.address + s.size});
  for (const Segment& s : elf_->segments())
    if (elf_->sections().empty() && s.type == PT_LOAD && (s.flags & PF_X) != 0 && code_.size() < kMostRanges &&
        s.vaddr != 0 && s.vaddr + s.memory_size > s.vaddr)
      code_.push_back({s.vaddr, s.vaddr + s.memory_size});
  std::sort(code_.begin(), code_.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  // Sections of one image do not overlap; if they do, the first one counts.
  std::size_t kept = 0;
  for (const AddressRange& range : code_)
    if (kept == 0 || code_[kept - 1].end <= range.begin) code_[kept++] = range;
  code_.resize(kept);
}

void JitImage::add_symbol(std::span<const std::byte> table, std::size_t index, std::span<const std::byte> strings) {
  const auto s = symbol_at(table, index, elf_->is_64_bit());
  const auto sections = elf_->sections();
  if (!s || s->section >= sections.size() || !is_code(sections[s->section])) return;
  const unsigned type = s->info & 15u;
  if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) return;
  const Section& section = sections[s->section];
  const Address begin = elf_->type() == ET_REL ? section.address + s->value : s->value;
  const std::string_view name = name_at(strings, s->name);
  const bool is_marker = type == STT_NOTYPE && name.starts_with('$');  // kind of code or data (ELF for the Arm)
  if (begin - section.address >= section.size || name.empty() || is_marker) return;
  const std::uint64_t left = section.address + section.size - begin;
  symbols_.push_back({begin, begin + std::min(s->size, left), name, type != STT_NOTYPE});
}

void JitImage::read_symbols(const Section& table, const Section& strings) {
  const std::size_t count = std::min(table.bytes.size() / symbol_entry_size(elf_->is_64_bit()), kMostSymbols);
  for (std::size_t i = 1; i < count; i++) add_symbol(table.bytes, i, strings.bytes);
  // Among aliases, a function is sorted last, and so is found first.
  std::sort(symbols_.begin(), symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.begin, a.is_function, b.name) < std::tie(b.begin, b.is_function, a.name);
  });
  for (std::size_t i = 0; i < symbols_.size(); i++) {
    Symbol& s = symbols_[i];
    if (s.end != s.begin) continue;
    const auto next = std::upper_bound(symbols_.begin(), symbols_.end(), s.begin,
                                       [](Address a, const Symbol& other) { return a < other.begin; });
    const auto around = std::find_if(code_.begin(), code_.end(), [&](const auto& r) { return r.contains(s.begin); });
    s.end = around != code_.end() ? std::min(around->end, s.begin + kMostUnsized) : s.begin;
    if (next != symbols_.end()) s.end = std::min(s.end, next->begin);
  }
}

std::optional<JitImage::Symbol> JitImage::find(Address address) const {
  auto at = std::upper_bound(symbols_.begin(), symbols_.end(), address,
                             [](Address a, const Symbol& s) { return a < s.begin; });
  for (std::size_t looked = 0; at != symbols_.begin() && looked < kMostAliases; looked++)
    if ((--at)->end > address) return *at;
  return std::nullopt;
}

/// One reading of all lists.
class JitImages::Reader {
 public:
  Reader(const MemoryReader& memory, Arch arch, const JitImages* before, const Limits& limits)
      : memory_(memory), arch_(arch), before_(before), limits_(limits), made_(new JitImages()) {}

  void follow(Address descriptor) {
    const auto head = memory_.read<Descriptor>(descriptor);
    if (!head || head->version != kVersion) return;
    for (Address at = head->first_entry; at != 0 && visited_.size() < limits_.entries;) {
      const auto entry = memory_.read<CodeEntry>(at);
      if (!entry || !visited_.insert(at).second) return;
      take(*entry);
      at = entry->next;
    }
  }

  std::shared_ptr<const JitImages> take_all() {
    const auto by_begin = [](const Place& a, const Place& b) { return a.range.begin < b.range.begin; };
    std::sort(made_->places_.begin(), made_->places_.end(), by_begin);
    const auto by_address = [](const Known& a, const Known& b) { return a.address < b.address; };
    std::sort(made_->known_.begin(), made_->known_.end(), by_address);
    return std::move(made_);
  }

 private:
  void take(const CodeEntry& entry) {
    if (entry.image == 0 || entry.size > std::min(limits_.image_bytes, limits_.all_bytes - bytes_)) return;
    bytes_ += static_cast<std::size_t>(entry.size);
    std::vector<std::byte> bytes(static_cast<std::size_t>(entry.size));
    if (!memory_.read_exact(entry.image, bytes)) return;
    Known known{entry.image, hash_of(bytes), bytes.size(), nullptr};
    if (const Known* same = in_before(known)) {
      known.image = same->image;
    } else if (auto image = JitImage::read(std::move(bytes), arch_, memory_)) {
      known.image = std::move(*image);
    }
    made_->known_.push_back(known);
    if (known.image != nullptr) add(known.image);
  }

  void add(const std::shared_ptr<const JitImage>& image) {
    bool is_free = true;
    for (const AddressRange& range : image->code()) is_free = claimed_.claim(range) && is_free;
    if (!is_free) return;
    for (const AddressRange& range : image->code()) made_->places_.push_back({range, image.get()});
    made_->images_.push_back(image);
  }

  [[nodiscard]] const Known* in_before(const Known& known) const {
    if (before_ == nullptr) return nullptr;
    const auto at = std::lower_bound(before_->known_.begin(), before_->known_.end(), known.address,
                                     [](const Known& k, Address a) { return k.address < a; });
    const bool is_same =
        at != before_->known_.end() && at->address == known.address && at->hash == known.hash && at->size == known.size;
    return is_same ? &*at : nullptr;
  }

  const MemoryReader& memory_;
  Arch arch_;
  const JitImages* before_;
  Limits limits_;
  std::set<Address> visited_;
  std::size_t bytes_ = 0;
  ClaimedRanges claimed_;
  std::shared_ptr<JitImages> made_;
};

std::shared_ptr<const JitImages> JitImages::read(const MemoryReader& memory, std::span<const Address> descriptors,
                                                 Arch arch, const JitImages* before, const Limits& limits) {
  Reader reader(memory, arch, before, limits);
  for (const Address descriptor : descriptors) reader.follow(descriptor);
  return reader.take_all();
}

const JitImage* JitImages::find(Address address) const {
  const auto behind = std::upper_bound(places_.begin(), places_.end(), address,
                                       [](Address a, const Place& p) { return a < p.range.begin; });
  if (behind == places_.begin() || !std::prev(behind)->range.contains(address)) return nullptr;
  return std::prev(behind)->image;
}

std::optional<std::uint64_t> find_data_symbol(const ElfImage& image, std::string_view name, std::size_t& budget) {
  if (const auto dynamic = image.dynamic_symbol(name)) return dynamic;
  const auto sections = image.sections();
  for (const Section& s : sections) {
    if (s.type != SHT_SYMTAB || s.link >= sections.size()) continue;
    const Section& names = sections[s.link];
    if (s.size > budget || names.size > budget - s.size) continue;
    budget -= static_cast<std::size_t>(s.size + names.size);
    const Section table = image.load(s), strings = image.load(names);
    const std::size_t count = table.bytes.size() / symbol_entry_size(image.is_64_bit());
    for (std::size_t i = 1; i < count; i++) {
      const auto symbol = symbol_at(table.bytes, i, image.is_64_bit());
      const bool is_data = symbol && (symbol->info & 15u) == STT_OBJECT && symbol->section != SHN_UNDEF;
      if (is_data && name_at(strings.bytes, symbol->name) == name) return symbol->value;
    }
  }
  return std::nullopt;
}

}  // namespace mixstack::images
