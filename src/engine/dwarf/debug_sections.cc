#include "engine/dwarf/debug_sections.h"

#include <elf.h>
#include <gelf.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>

#include "base/system/scoped_fd.h"

namespace mixstack::symbols {
namespace {

constexpr std::array<std::string_view, 11> kSections{
    ".debug_info",     ".debug_abbrev",      ".debug_line", ".debug_line_str", ".debug_str",  ".debug_aranges",
    ".debug_rnglists", ".debug_str_offsets", ".debug_addr", ".debug_ranges",   ".debug_types"};

bool is_wanted(const images::Section& section) {
  return section.type != SHT_NOBITS && std::find(kSections.begin(), kSections.end(), section.name) != kSections.end();
}

/// Bytes of all wanted sections that are packed, or that are not.
std::uint64_t bytes_of(const images::ElfImage& image, bool packed) {
  std::uint64_t sum = 0;
  for (const images::Section& s : image.sections())
    if (is_wanted(s) && ((s.flags & SHF_COMPRESSED) != 0) == packed) sum += s.size;
  return sum;
}

}  // namespace

bool DebugSections::is_at_hand(const images::ElfImage& image, Packed packed) {
  return packed == Packed::all || (bytes_of(image, true) <= kFewPackedBytes && bytes_of(image, false) <= kFewBytes);
}

Result<std::unique_ptr<DebugSections>> DebugSections::open(std::shared_ptr<const images::ElfImage> image,
                                                           std::shared_ptr<const images::ElfImage> shared,
                                                           Packed packed) {
  if (!image) return fail(ErrorCode::not_found);
  std::unique_ptr<DebugSections> made(new DebugSections);
  made->image_ = std::move(image);
  if (auto done = made->make(packed); !done) return fail(done.error());
  if (!shared) return made;
  auto other = open(std::move(shared), nullptr, packed);
  if (!other) return made;  // names that only the shared part has are missing then
  made->shared_ = std::move(*other);
  ::dwarf_setalt(made->dwarf_, made->shared_->dwarf_);
  return made;
}

Result<void> DebugSections::make(Packed packed) {
  if (!is_at_hand(*image_, packed)) return fail(ErrorCode::limit_exceeded);
  ::elf_version(EV_CURRENT);
  // libelf wants a file for its output; nothing is written.
  const base::ScopedFd nowhere(::memfd_create("debug sections", MFD_CLOEXEC));
  if (!nowhere) return fail(ErrorCode::io_error);
  elf_ = ::elf_begin(nowhere.get(), ELF_C_WRITE, nullptr);
  if (elf_ == nullptr || ::gelf_newehdr(elf_, image_->is_64_bit() ? ELFCLASS64 : ELFCLASS32) == nullptr)
    return fail(ErrorCode::io_error);
  names_.assign(1, '\0');
  for (const images::Section& header : image_->sections()) {
    if (!is_wanted(header)) continue;
    const images::Section section = image_->load(header);
    if (section.bytes.empty()) continue;
    if (section.name == ".debug_line") lines_ = section.bytes;
    if (!add_section(section.name, SHT_PROGBITS, section.bytes)) return fail(ErrorCode::malformed);
  }
  names_ += std::string_view(".shstrtab\0", 10);
  // The last section: from here on its text, which has its own name, does not grow.
  const std::size_t own = names_.size() - 10;
  Elf_Scn* last = ::elf_newscn(elf_);
  Elf_Data* data = last == nullptr ? nullptr : ::elf_newdata(last);
  GElf_Shdr header{};
  header.sh_name = static_cast<GElf_Word>(own);
  header.sh_type = SHT_STRTAB;
  header.sh_size = names_.size();
  if (data == nullptr || ::gelf_update_shdr(last, &header) == 0) return fail(ErrorCode::io_error);
  *data = {names_.data(), ELF_T_BYTE, EV_CURRENT, names_.size(), 0, 1};
  GElf_Ehdr whole{};
  if (::gelf_getehdr(elf_, &whole) == nullptr) return fail(ErrorCode::io_error);
  whole.e_ident[EI_DATA] = ELFDATA2LSB;
  whole.e_type = ET_DYN;
  whole.e_machine = image_->machine();
  whole.e_version = EV_CURRENT;
  whole.e_shstrndx = static_cast<GElf_Half>(::elf_ndxscn(last));
  if (::gelf_update_ehdr(elf_, &whole) == 0) return fail(ErrorCode::io_error);
  dwarf_ = ::dwarf_begin_elf(elf_, DWARF_C_READ, nullptr);
  if (dwarf_ == nullptr) return fail(ErrorCode::not_found);
  return {};
}

bool DebugSections::add_section(std::string_view name, std::uint32_t type, std::span<const std::byte> bytes) {
  Elf_Scn* section = ::elf_newscn(elf_);
  Elf_Data* data = section == nullptr ? nullptr : ::elf_newdata(section);
  GElf_Shdr header{};
  header.sh_name = static_cast<GElf_Word>(names_.size());
  header.sh_type = type;
  header.sh_size = bytes.size();
  if (data == nullptr || ::gelf_update_shdr(section, &header) == 0) return false;
  // libelf's pointer lacks a const; sections are only read.
  *data = {const_cast<std::byte*>(bytes.data()), ELF_T_BYTE, EV_CURRENT, bytes.size(), 0, 1};
  names_.append(name).push_back('\0');
  return true;
}

DebugSections::~DebugSections() {
  if (dwarf_ != nullptr) ::dwarf_end(dwarf_);
  if (elf_ != nullptr) ::elf_end(elf_);
}

}  // namespace mixstack::symbols
