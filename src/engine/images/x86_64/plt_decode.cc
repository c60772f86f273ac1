#include "engine/images/plt_decode.h"

#include <array>
#include <cstring>

#include "base/system/byte_cursor.h"

namespace mixstack::images::x86_64 {
namespace {

/// Forms of x86-64 stubs up to the displacement of `jmp *disp32(%rip)` (psABI figure "Procedure Linkage Table"; IBT
/// forms: endbr64 first; MPX forms: bnd prefix).
struct X86Form {
  std::array<std::uint8_t, 8> bytes;
  std::size_t size;
};
constexpr std::array<X86Form, 4> kX86Forms{{
    {{0xff, 0x25}, 2},
    {{0xf2, 0xff, 0x25}, 3},
    {{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25}, 6},
    {{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25}, 7},
}};

}  // namespace

std::vector<PltJump> decode_plt(const Section& s) {
  std::vector<PltJump> out;
  const std::size_t stub = s.entry_size == 8 ? 8 : 16;
  for (std::size_t at = 0; at + stub <= s.bytes.size() && out.size() < kMaxPltStubs; at += stub) {
    for (const auto& form : kX86Forms) {
      const auto displacement = base::load_at<std::int32_t>(s.bytes, at + form.size);
      if (!displacement || form.size + 4 > stub || std::memcmp(&s.bytes[at], form.bytes.data(), form.size) != 0)
        continue;
      const std::uint64_t next = s.address + at + form.size + 4;
      out.push_back({s.address + at, static_cast<std::uint32_t>(stub),
                     next + static_cast<std::uint64_t>(std::int64_t{*displacement})});
      break;
    }
  }
  return out;
}

}  // namespace mixstack::images::x86_64
