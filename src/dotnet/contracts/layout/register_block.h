// Registers that the runtime stores by name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "dotnet/contracts/descriptor.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet {

/// Offsets of named registers in a structure of the runtime (CalleeSavedRegisters, HijackArgs, ArgumentRegisters), by
/// the DWARF number of the register.
struct RegisterBlockLayout {
  struct Entry {
    std::uint8_t reg = 0;
    std::uint16_t offset = 0;
  };
  static constexpr unsigned kMax = Registers::kMax - 1;
  std::array<Entry, kMax> entries{};
  unsigned count = 0;
  std::uint32_t size = 0;
};

/// The registers of the type of that name; empty where the descriptor lacks it. Names as datadescriptor.inc spells
/// them: "Rbx", "X19", "Fp", "Lr", "R4", "Edi".
[[nodiscard]] RegisterBlockLayout register_block(const Descriptor& descriptor, Arch arch, std::string_view type);

}  // namespace mixstack::dotnet
