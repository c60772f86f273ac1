#include "arch/clone_return.h"

#include "arch/aarch64/clone_return.h"
#include "arch/x86_64/clone_return.h"

namespace mixstack::arch {

std::optional<Address> child_after_clone(const Registers& registers, std::span<const std::byte> code) {
  switch (registers.arch()) {
    case Arch::x86_64:
      return x86_64::child_after_clone(registers, code);
    case Arch::aarch64:
      return aarch64::child_after_clone(registers, code);
    default:
      return std::nullopt;
  }
}

}  // namespace mixstack::arch
