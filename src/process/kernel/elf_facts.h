// Facts from ELF headers and the auxiliary vector of a process, live or dead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack::process {

/// The CPU of an ELF header's first bytes (gABI: EI_CLASS, EI_DATA, e_machine). Errors: `unsupported_cpu` (value: the
/// e_machine) if it is 32-bit, big-endian or unknown; `malformed` if it is no ELF header.
[[nodiscard]] Result<Arch> arch_of_elf_header(std::span<const std::byte> header);

/// A 16-bit field of an ELF header in the header's own byte order; 0 beyond its end.
[[nodiscard]] std::uint16_t elf_half(std::span<const std::byte> header, std::size_t offset);

/// Fills entry point, program headers, vDSO and page size from an auxiliary vector (/proc/PID/auxv, NT_AUXV). Unknown
/// entries are skipped.
void parse_auxv(std::span<const std::byte> auxv, TargetInfo& info);

}  // namespace mixstack::process
