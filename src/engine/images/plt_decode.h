// Which GOT slot each stub of a PLT section jumps through, by decoding its instructions.
#pragma once

#include <vector>

#include "engine/images/elf_image.h"

namespace mixstack::images {

struct PltJump {
  std::uint64_t address = 0;  ///< of the stub
  std::uint32_t size = 0;
  std::uint64_t slot = 0;  ///< address of the pointer it jumps through
};

/// Stubs of one section that are read.
inline constexpr std::size_t kMaxPltStubs = 1u << 18;

namespace x86_64 {
[[nodiscard]] std::vector<PltJump> decode_plt(const Section& section);
}
namespace aarch64 {
[[nodiscard]] std::vector<PltJump> decode_plt(const Section& section);
}

/// `section` with its bytes. Stubs whose form is not known are left out.
[[nodiscard]] std::vector<PltJump> decode_plt(Arch arch, const Section& section);

}  // namespace mixstack::images
