#include "arch/register_names.h"

#include <array>
#include <span>

namespace mixstack::arch {
namespace {

constexpr std::array<std::string_view, 17> kX8664{"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp", "r8",
                                                  "r9",  "r10", "r11", "r12", "r13", "r14", "r15", "rip"};
constexpr std::array<std::string_view, 35> kAarch64{
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",          "x11",
    "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21", "x22",          "x23",
    "x24", "x25", "x26", "x27", "x28", "fp",  "lr",  "sp",  "pc",  "",    "ra_sign_state"};
constexpr std::array<std::string_view, 9> kX86{"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "eip"};
constexpr std::array<std::string_view, 16> kArm{"r0", "r1", "r2",  "r3",  "r4",  "r5", "r6", "r7",
                                                "r8", "r9", "r10", "r11", "r12", "sp", "lr", "pc"};

std::span<const std::string_view> names(Arch arch) {
  switch (arch) {
    case Arch::x86_64:
      return kX8664;
    case Arch::aarch64:
      return kAarch64;
    case Arch::x86:
      return kX86;
    case Arch::arm:
      return kArm;
    case Arch::unknown:
      break;
  }
  return {};
}

}  // namespace

std::string_view register_name(Arch arch, unsigned reg) {
  const auto all = names(arch);
  return reg < all.size() ? all[reg] : std::string_view{};
}

}  // namespace mixstack::arch
