// What depends on the CPU of the target: names of system calls and registers.
#include <fmt/format.h>

#include <array>
#include <span>

#include "report/aarch64/syscall_names.h"
#include "report/words.h"
#include "report/x86_64/syscall_names.h"

namespace mixstack::report {
namespace {

// DWARF register numbers: System V AMD64 psABI, figure 3.36.
constexpr std::array<std::string_view, 17> kX86_64 = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                                      "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
// System V i386 psABI, table 2.14.
constexpr std::array<std::string_view, 9> kX86 = {"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"};

std::span<const std::string_view> syscall_table(Arch arch) {
  if (arch == Arch::x86_64) return x86_64::syscall_names();
  if (arch == Arch::aarch64) return aarch64::syscall_names();
  return {};
}

std::string aarch64_register(unsigned number) {
  if (number == aarch64_reg::sp) return "sp";
  if (number == aarch64_reg::pc) return "pc";
  if (number == aarch64_reg::ra_sign_state) return "ra_sign_state";
  return fmt::format("x{}", number);
}

std::string arm_register(unsigned number) {
  if (number == arm_reg::sp) return "sp";
  if (number == arm_reg::lr) return "lr";
  if (number == arm_reg::pc) return "pc";
  return fmt::format("r{}", number);
}

}  // namespace

std::string_view syscall_name(Arch arch, std::int64_t number) {
  const auto table = syscall_table(arch);
  if (number < 0 || static_cast<std::uint64_t>(number) >= table.size()) return {};
  return table[static_cast<std::size_t>(number)];
}

std::string register_name(Arch arch, unsigned number) {
  switch (arch) {
    case Arch::x86_64:
      if (number < kX86_64.size()) return std::string(kX86_64[number]);
      break;
    case Arch::x86:
      if (number < kX86.size()) return std::string(kX86[number]);
      break;
    case Arch::aarch64:
      return aarch64_register(number);
    case Arch::arm:
      return arm_register(number);
    case Arch::unknown:
      break;
  }
  return fmt::format("r{}", number);
}

}  // namespace mixstack::report
