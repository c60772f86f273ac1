// What a CPU is, as far as walks, images and reports need to know: the form that src/arch/<cpu>/cpu.h fills in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "mixstack/registers.h"

namespace mixstack::arch {

constexpr std::uint64_t bit(unsigned reg) { return std::uint64_t{1} << reg; }
/// Bits `first`..`last`, both included.
constexpr std::uint64_t bits(unsigned first, unsigned last) {
  return ((std::uint64_t{2} << last) - 1) & ~((std::uint64_t{1} << first) - 1);
}

/// e_machine, and relocation types of the psABI. 0: nobody looked them up.
struct ElfNumbers {
  std::uint16_t machine = 0;
  std::uint32_t relative = 0, glob_dat = 0, jump_slot = 0, irelative = 0;
};

/// Registers a call preserves, as sets of DWARF numbers; neither pc nor sp.
struct PreservedRegisters {
  std::uint64_t platform_unix = 0;  ///< the CPU's psABI
  std::uint64_t platform_windows = 0;
  std::uint64_t coreclr_unix = 0;  ///< what CoreCLR's CalleeSavedRegisters structure and contexts hold
  std::uint64_t coreclr_windows = 0;
};

/// DWARF numbers from `first` on, named by a prefix and their index.
struct VectorNames {
  unsigned first = ~0u;
  std::string_view prefix, wide_prefix;  ///< wide: where more than 16 bytes of each are known
};

/// What Linux puts on the stack of a signal handler, counted from sp where the handler returns to: a siginfo, and a
/// ucontext with the registers as words.
struct SignalFrame {
  std::array<std::span<const std::uint8_t>, 2> return_codes{};  ///< the instructions of rt_sigreturn; one may be empty
  std::uint16_t info = 0;
  std::uint16_t context = 0;
  std::uint16_t registers = 0;            ///< from the ucontext on
  std::span<const std::uint8_t> order{};  ///< DWARF numbers of the words; none: nobody looked it up
};

inline constexpr unsigned kNoRegister = ~0u;

/// Of a CPU whose vectors are as long as the machine likes: who saves them needs their length to say where the CFA is.
/// The kernel tells it in a note and, on the stack of a signal handler, in one of some records {magic, size, ...}.
struct VectorLength {
  unsigned reg = kNoRegister;    ///< our number of the register that counts words of 8 bytes. All frames have the same
  unsigned dwarf = kNoRegister;  ///< that of the psABI
  std::uint16_t records = 0, room = 0;  ///< from the ucontext on
  std::uint32_t magic = 0;
  std::uint32_t note = 0;
  std::uint16_t bytes = 0;  ///< of note and record: where 16 bits say how many bytes a vector has

  /// The register's value, unless no vector is so long (Linux: SVE_VL_VALID).
  [[nodiscard]] constexpr std::optional<std::uint64_t> words(std::uint64_t of_bytes) const {
    if (reg == kNoRegister || of_bytes == 0 || of_bytes % 16 != 0 || of_bytes > 8192) return std::nullopt;
    return of_bytes / 8;
  }
};

/// Where the kernel forgets the number of a system call before it lets a tracer look (arm64: forget_syscall in
/// arch/arm64/kernel/signal.c), and how it is found all the same.
struct SystemCallSite {
  std::span<const std::uint8_t> instruction{};  ///< empty: it is in the register set
  unsigned number = kNoRegister, result = kNoRegister;
  std::uint64_t last = 0;  ///< no number is greater
};

struct Cpu {
  static constexpr unsigned kNoRegister = arch::kNoRegister;

  std::string_view name = "unknown";
  std::string_view rid{};  ///< what .NET calls it, the last part of a runtime identifier: "linux-x64"
  bool is_walked = false;  ///< there are rules, decoders and layouts for stacks of 64-bit Linux processes on it
  ArchRegisters registers = arch_registers(Arch::unknown);
  std::span<const std::string_view> register_names{};  ///< by DWARF number
  VectorNames vectors{};
  unsigned link_register = kNoRegister;  ///< where a call leaves the return address; none: it pushes it
  unsigned ra_column = kNoRegister;      ///< of the return address in CFI
  PreservedRegisters preserved{};
  VectorLength vector_length{};
  bool signs_return_addresses = false;   ///< with pointer authentication codes; CFI has instructions that say so
  unsigned zero_address_bits = 0;        ///< how many of the lowest bits of an instruction's address are always zero
  std::uint32_t function_flags = 0;      ///< bits of a function's address in symbols and tables that are no address
  bool marks_code_with_symbols = false;  ///< $x, $d: symbols of the psABI that name no function
  SignalFrame signal_frame{};
  SystemCallSite system_call{};
  ElfNumbers elf{};
  std::uint16_t pe_machine = 0;  ///< IMAGE_FILE_MACHINE_*

  [[nodiscard]] constexpr bool has_link_register() const { return link_register != kNoRegister; }
  /// Registers that a function leaves as they were, sp included.
  [[nodiscard]] constexpr std::uint64_t preserved_with_sp() const {
    const std::uint64_t constant = vector_length.reg == kNoRegister ? 0 : bit(vector_length.reg);
    return preserved.platform_unix == 0 ? 0 : preserved.platform_unix | bit(registers.sp) | constant;
  }
  /// Our number of a register of CFI; Registers::kMax or more: not kept.
  [[nodiscard]] constexpr std::uint64_t register_of(std::uint64_t dwarf) const {
    if (vector_length.reg == kNoRegister) return dwarf;
    if (dwarf == vector_length.dwarf) return vector_length.reg;
    return dwarf == vector_length.reg ? Registers::kMax : dwarf;
  }
};

}  // namespace mixstack::arch
