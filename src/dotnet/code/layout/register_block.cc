#include "dotnet/code/layout/register_block.h"

namespace mixstack::dotnet {
namespace {

/// The DWARF number, or -1.
int register_number(Arch arch, std::string_view name) {
  struct Named {
    std::string_view name;
    unsigned reg;
  };
  static constexpr Named x64[] = {{"Rax", x86_64_reg::rax}, {"Rdx", x86_64_reg::rdx}, {"Rcx", x86_64_reg::rcx},
                                  {"Rbx", x86_64_reg::rbx}, {"Rsi", x86_64_reg::rsi}, {"Rdi", x86_64_reg::rdi},
                                  {"Rbp", x86_64_reg::rbp}, {"R8", x86_64_reg::r8},   {"R9", x86_64_reg::r9},
                                  {"R10", x86_64_reg::r10}, {"R11", x86_64_reg::r11}, {"R12", x86_64_reg::r12},
                                  {"R13", x86_64_reg::r13}, {"R14", x86_64_reg::r14}, {"R15", x86_64_reg::r15}};
  static constexpr Named x86[] = {{"Eax", x86_reg::eax}, {"Ecx", x86_reg::ecx}, {"Edx", x86_reg::edx},
                                  {"Ebx", x86_reg::ebx}, {"Ebp", x86_reg::ebp}, {"Esi", x86_reg::esi},
                                  {"Edi", x86_reg::edi}};
  const auto find = [&](auto& table) {
    for (const auto& n : table)
      if (n.name == name) return static_cast<int>(n.reg);
    return -1;
  };
  const auto numbered = [&](char prefix, unsigned limit) {
    if (name.size() < 2 || name.size() > 3 || name[0] != prefix) return -1;
    unsigned n = 0;
    for (const char c : name.substr(1)) {
      if (c < '0' || c > '9') return -1;
      n = n * 10 + static_cast<unsigned>(c - '0');
    }
    return n < limit ? static_cast<int>(n) : -1;
  };
  switch (arch) {
    case Arch::x86_64:
      return find(x64);
    case Arch::x86:
      return find(x86);
    case Arch::aarch64:
      if (name == "Fp") return aarch64_reg::fp;
      if (name == "Lr") return aarch64_reg::lr;
      return numbered('X', 31);
    case Arch::arm:
      if (name == "Lr") return arm_reg::lr;
      return numbered('R', 13);
    case Arch::unknown:
      break;
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
    const int reg = register_number(arch, name);
    if (reg < 0 || field.offset > 0xffff || block.count == RegisterBlockLayout::kMax) continue;
    block.entries[block.count++] = {static_cast<std::uint8_t>(reg), static_cast<std::uint16_t>(field.offset)};
  }
  return block;
}

}  // namespace mixstack::dotnet
