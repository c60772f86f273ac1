#include "base/arch/clone_return.h"

#include "base/arch/aarch64/clone_return.h"
#include "base/arch/per_cpu.h"
#include "base/arch/x86_64/clone_return.h"

namespace mixstack::arch {

bool may_be_child_of_clone(const Registers& registers) {
  static constexpr PerCpu<unsigned> kResults{.x86_64 = x86_64::kCloneResult, .aarch64 = aarch64::kCloneResult};
  return registers.get(kResults[registers.arch()]) == std::uint64_t{0};
}

std::optional<Address> child_after_clone(const Registers& registers, std::span<const std::byte> code) {
  static constexpr PerCpu<std::optional<Address> (*)(const Registers&, std::span<const std::byte>)> kDecoders{
      .x86_64 = x86_64::child_after_clone, .aarch64 = aarch64::child_after_clone};
  const auto decode = kDecoders[registers.arch()];
  return decode == nullptr ? std::nullopt : decode(registers, code);
}

}  // namespace mixstack::arch
