#include "engine/unwind/plt_stub.h"

#include "base/arch/per_cpu.h"

namespace mixstack::unwind {

std::optional<UnwindRule> match_plt_stub(Arch arch, std::span<const std::byte> code, std::size_t at) {
  using Match = std::optional<UnwindRule> (*)(std::span<const std::byte>, std::size_t);
  static constexpr arch::PerCpu<Match> kMatches{.aarch64 = aarch64::match_plt_stub};
  const Match match = kMatches[arch];
  return match == nullptr ? std::nullopt : match(code, at);
}

}  // namespace mixstack::unwind
