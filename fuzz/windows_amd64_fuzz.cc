// LINK: mixstack_engine_unwind
// AMD64 unwind data and code, all foreign: byte 0 and 1 place the pc, byte 2 says return address or not; the rest is an
// image whose function row names RVA 16 for its record and 0x40.. for its code.
#include <cstdint>
#include <cstdlib>

#include "engine/unwind/windows/amd64/rule.h"

namespace {

using namespace mixstack::unwind::windows;

/// An image of which any row a jump asks for is the first again, so that chains and look-ups meet.
class FuzzImage final : public UnwindDataSource {
 public:
  explicit FuzzImage(std::span<const std::byte> bytes) : data_(bytes) {}
  [[nodiscard]] mixstack::Result<std::size_t> read_some(std::uint32_t rva, std::span<std::byte> out) const override {
    return data_.read_some(rva, out);
  }
  [[nodiscard]] std::optional<RuntimeFunction> function_at(std::uint32_t rva) const override {
    if (rva % 3 == 0) return std::nullopt;
    return RuntimeFunction{rva & ~0xffu, (rva & ~0xffu) + 0x100, 16};
  }

 private:
  MappedUnwindData data_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(3);
  const FuzzImage image(bytes);
  const RuntimeFunction row{0x40, 0x140, 16};
  const Amd64Location where{row, 0x40u + data[0] + data[1] * 256u, (data[2] & 1) != 0};
  const auto rule = amd64_rule(image, where);
  if (rule && rule->count > mixstack::unwind::UnwindRule::kMaxRules) std::abort();
  (void)amd64_rule(bytes, where, bytes.subspan(bytes.size() / 2), image);
  return 0;
}
