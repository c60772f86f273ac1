#include "base/system/own_build_id.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

namespace mixstack::base {
namespace {

/// The NT_GNU_BUILD_ID note among `notes`, as hexadecimal digits; empty: none.
std::string build_id_in(std::span<const unsigned char> notes) {
  constexpr std::size_t kAlign = 4;
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto aligned = [](std::size_t size) { return (size + kAlign - 1) & ~(kAlign - 1); };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof(note));
    const std::size_t begin = sizeof(note) + aligned(note.n_namesz), end = begin + note.n_descsz;
    if (end > notes.size() || begin > end) return {};
    const bool is_gnu = note.n_namesz == sizeof(ELF_NOTE_GNU) &&
                        std::memcmp(notes.data() + sizeof(note), ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0;
    if (is_gnu && note.n_type == NT_GNU_BUILD_ID) {
      std::string digits;
      for (const unsigned char byte : notes.subspan(begin, note.n_descsz))
        digits += {kDigits[byte >> 4], kDigits[byte & 15]};
      return digits;
    }
    notes = notes.subspan(std::min(aligned(end), notes.size()));
  }
  return {};
}

/// Called for each loaded image; the first one is the program itself.
int read_program(dl_phdr_info* image, std::size_t, void* out) {
  for (const ElfW(Phdr) & header : std::span(image->dlpi_phdr, image->dlpi_phnum)) {
    if (header.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const unsigned char*>(image->dlpi_addr + header.p_vaddr);
    std::string id = build_id_in({notes, header.p_memsz});
    if (!id.empty()) *static_cast<std::string*>(out) = std::move(id);
  }
  return 1;
}

}  // namespace

std::string own_build_id() {
  std::string build_id;
  ::dl_iterate_phdr(read_program, &build_id);
  return build_id;
}

}  // namespace mixstack::base
