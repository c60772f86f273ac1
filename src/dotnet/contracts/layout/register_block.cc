#include "dotnet/contracts/layout/register_block.h"

#include "base/arch/cpu.h"

namespace mixstack::dotnet {
namespace {

/// "Rax" for rax, "X19" for x19, "Fp" and "Lr" where there is a link register. The DWARF number, or -1.
int register_number(const arch::Cpu& cpu, std::string_view name) {
  if (cpu.has_link_register() && name == "Lr") return static_cast<int>(cpu.link_register);
  if (cpu.has_link_register() && name == "Fp") return static_cast<int>(cpu.registers.fp);
  // A structure may hold registers numbered below the pc, except sp.
  for (unsigned reg = 0; reg < cpu.registers.pc && reg < cpu.register_names.size(); reg++) {
    const std::string_view own = cpu.register_names[reg];
    const bool is_it = !name.empty() && name.substr(1) == own.substr(1) && name[0] == own[0] - 'a' + 'A';
    if (is_it && reg != cpu.registers.sp) return static_cast<int>(reg);
  }
  return -1;
}

}  // namespace

RegisterBlockLayout register_block(const Descriptor& descriptor, Arch arch, std::string_view type) {
  RegisterBlockLayout block;
  block.size = descriptor.size_of(type).value_or(0);
  const auto* t = descriptor.type(type);
  if (t == nullptr) return block;
  for (const auto& [name, field] : t->fields) {
    const int reg = register_number(arch::cpu(arch), name);
    if (reg < 0 || field.offset > 0xffff || block.count == RegisterBlockLayout::kMax) continue;
    block.entries[block.count++] = {static_cast<std::uint8_t>(reg), static_cast<std::uint16_t>(field.offset)};
  }
  return block;
}

}  // namespace mixstack::dotnet
