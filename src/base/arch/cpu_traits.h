// A CPU as data, as far as walks, images and reports need it: the form that src/base/arch/<cpu>/cpu.h fills in.
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

/// e_machine, and relocation types of the psABI. 0: not looked up.
struct ElfNumbers {
  std::uint16_t machine = 0;
  std::uint32_t relative = 0, glob_dat = 0, jump_slot = 0, irelative = 0;
};

/// Registers a call preserves, as sets of DWARF numbers; neither pc nor sp.
struct PreservedRegisters {
  std::uint64_t platform_unix = 0;  ///< the CPU's psABI
  std::uint64_t platform_windows = 0;
  std::uint64_t coreclr_unix = 0;  ///< as in CoreCLR's CalleeSavedRegisters structure and contexts
  std::uint64_t coreclr_windows = 0;
};

/// Vector registers: DWARF numbers from `first` on, named by a prefix and their index.
struct VectorNames {
  unsigned first = ~0u;
  std::string_view prefix, wide_prefix;  ///< wide: if more than 16 bytes of each are known
};

/// The signal frame of Linux, in bytes from the sp at which a handler returns: a siginfo, and a ucontext with the
/// registers as words.
struct SignalFrame {
  std::array<std::span<const std::uint8_t>, 2> return_codes{};  ///< the instructions of rt_sigreturn; one may be empty
  std::uint16_t info = 0;
  std::uint16_t context = 0;
  std::uint16_t registers = 0;            ///< from the ucontext on
  std::span<const std::uint8_t> order{};  ///< DWARF numbers of the words; empty: not looked up
};

inline constexpr unsigned kNoRegister = ~0u;

/// For a CPU with vectors of variable length: the CFA of code that saves them depends on that length. The kernel
/// reports it in a note and, in a signal frame, in one of several records {magic, size, ...}.
struct VectorLength {
  unsigned reg = kNoRegister;           ///< our number of the register that counts 8-byte words; equal in all frames
  unsigned dwarf = kNoRegister;         ///< its number in the psABI
  std::uint16_t records = 0, room = 0;  ///< from the ucontext on
  std::uint32_t magic = 0;
  std::uint32_t note = 0;
  std::uint16_t bytes = 0;  ///< offset in note and record of the 16-bit length in bytes

  /// The register's value; nothing: no vector is so long (Linux: SVE_VL_VALID).
  [[nodiscard]] constexpr std::optional<std::uint64_t> words(std::uint64_t of_bytes) const {
    if (reg == kNoRegister || of_bytes == 0 || of_bytes % 16 != 0 || of_bytes > 8192) return std::nullopt;
    return of_bytes / 8;
  }
};

/// For a CPU whose kernel erases the number of a system call before a tracer can read it (arm64: forget_syscall in
/// arch/arm64/kernel/signal.c): how to find it in the code.
struct SystemCallSite {
  std::span<const std::uint8_t> instruction{};  ///< instruction of a call; empty: the register set has the number
  unsigned number = kNoRegister, result = kNoRegister;
  std::uint64_t last = 0;  ///< largest number
};

struct Cpu {
  static constexpr unsigned kNoRegister = arch::kNoRegister;

  std::string_view name = "unknown";
  std::string_view rid{};  ///< the runtime identifier of .NET: "linux-x64"
  bool is_walked = false;  ///< stacks of its 64-bit Linux processes are walked: rules, decoders and layouts exist
  ArchRegisters registers = arch_registers(Arch::unknown);
  std::span<const std::string_view> register_names{};  ///< by DWARF number
  VectorNames vectors{};
  unsigned link_register = kNoRegister;  ///< register of the return address after a call; none: calls push it
  unsigned ra_column = kNoRegister;      ///< column of the return address in CFI
  PreservedRegisters preserved{};
  VectorLength vector_length{};
  bool signs_return_addresses = false;   ///< pointer authentication; CFI has instructions for it
  unsigned zero_address_bits = 0;        ///< number of low bits of instruction addresses that are always zero
  std::uint32_t function_flags = 0;      ///< flag bits in functions' addresses in symbols and tables
  bool marks_code_with_symbols = false;  ///< $x, $d: mapping symbols of the psABI, which name no function
  SignalFrame signal_frame{};
  SystemCallSite system_call{};
  ElfNumbers elf{};
  std::uint16_t pe_machine = 0;  ///< IMAGE_FILE_MACHINE_*

  [[nodiscard]] constexpr bool has_link_register() const { return link_register != kNoRegister; }
  /// The callee-saved registers, sp included.
  [[nodiscard]] constexpr std::uint64_t preserved_with_sp() const {
    const std::uint64_t constant = vector_length.reg == kNoRegister ? 0 : bit(vector_length.reg);
    return preserved.platform_unix == 0 ? 0 : preserved.platform_unix | bit(registers.sp) | constant;
  }
  /// Our number of a CFI register; Registers::kMax or more: not kept.
  [[nodiscard]] constexpr std::uint64_t register_of(std::uint64_t dwarf) const {
    if (vector_length.reg == kNoRegister) return dwarf;
    if (dwarf == vector_length.dwarf) return vector_length.reg;
    return dwarf == vector_length.reg ? Registers::kMax : dwarf;
  }
};

}  // namespace mixstack::arch
