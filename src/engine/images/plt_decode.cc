#include "engine/images/plt_decode.h"

#include "base/arch/per_cpu.h"

namespace mixstack::images {

std::vector<PltJump> decode_plt(Arch arch, const Section& section) {
  static constexpr arch::PerCpu<std::vector<PltJump> (*)(const Section&)> kDecoders{.x86_64 = x86_64::decode_plt,
                                                                                    .aarch64 = aarch64::decode_plt};
  const auto decode = kDecoders[arch];
  return decode == nullptr ? std::vector<PltJump>() : decode(section);
}

}  // namespace mixstack::images
