#include "target/register_set.h"

namespace mixstack::target {

Result<RegisterSet> decode_register_set(Arch arch, std::span<const std::byte> bytes) {
  switch (arch) {
    case Arch::x86_64:
      return x86_64::decode_register_set(bytes);
    case Arch::aarch64:
      return aarch64::decode_register_set(bytes);
    case Arch::unknown:
    case Arch::x86:
    case Arch::arm:
      break;
  }
  return fail(ErrorCode::unsupported_cpu, static_cast<std::uint64_t>(arch));
}

}  // namespace mixstack::target
