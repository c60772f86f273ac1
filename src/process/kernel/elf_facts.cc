#include "process/kernel/elf_facts.h"

#include <elf.h>

#include <cstring>

#include "base/arch/cpu.h"
#include "base/system/byte_cursor.h"

namespace mixstack::process {

std::uint16_t elf_half(std::span<const std::byte> header, std::size_t offset) {
  const auto value = base::load_at<std::uint16_t>(header, offset).value_or(0);
  const bool is_big = header.size() > EI_DATA && std::to_integer<int>(header[EI_DATA]) == ELFDATA2MSB;
  return is_big ? static_cast<std::uint16_t>(value << 8 | value >> 8) : value;
}

Result<Arch> arch_of_elf_header(std::span<const std::byte> header) {
  if (header.size() < 20 || std::memcmp(header.data(), ELFMAG, SELFMAG) != 0) return fail(ErrorCode::malformed);
  const bool is_64_bit = std::to_integer<int>(header[EI_CLASS]) == ELFCLASS64;
  const bool is_little = std::to_integer<int>(header[EI_DATA]) == ELFDATA2LSB;
  const auto machine = elf_half(header, 18);
  const Arch arch = arch::cpu_of_elf(machine);
  if (is_64_bit && is_little && arch::cpu(arch).is_walked) return arch;
  return fail(ErrorCode::unsupported_cpu, machine);
}

void parse_auxv(std::span<const std::byte> auxv, TargetInfo& info) {
  base::ByteCursor c(auxv);
  while (c.remaining() >= 16) {
    const std::uint64_t key = c.u64(), value = c.u64();
    switch (key) {
      case AT_NULL:
        return;
      case AT_ENTRY:
        info.entry_point = value;
        break;
      case AT_PHDR:
        info.program_headers = value;
        break;
      case AT_SYSINFO_EHDR:
        info.vdso = value;
        break;
      case AT_PAGESZ:
        if (value >= 4096 && value <= (1 << 20) && (value & (value - 1)) == 0) info.page_size = value;
        break;
      default:
        break;
    }
  }
}

}  // namespace mixstack::process
