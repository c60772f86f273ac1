// LINK: mixstack_dotnet_names mixstack_test_support
// A whole runtime made of the input: every address of the target is a byte of it, so that all pointers lead somewhere.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dotnet/names/method_names.h"
#include "support/fake_names_runtime.h"

using namespace mixstack;
using namespace mixstack::dotnet::names;

namespace {

/// The input over and over.
class Tiled final : public MemoryReader {
 public:
  explicit Tiled(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    if (address % 0x10000 >= 0xf000) return fail(ErrorCode::unreadable_memory, address);
    const std::size_t n = std::min<std::size_t>(out.size(), 0xf000 - address % 0x10000);
    for (std::size_t i = 0; i < n; i++) out[i] = bytes_[(address + i) % bytes_.size()];
    return n;
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 64) return 0;
  const Tiled memory(std::as_bytes(std::span(data, size)));
  const FakeRuntime fake;
  NameOptions options;
  options.max_name = 512;
  MethodNames names(dotnet::RuntimeMemory(memory, fake.layouts), options);
  for (Address at = 0; at < 256; at += 8) {
    (void)names.describe(at);
    (void)names.type_name(at);
  }
  (void)names.object_type_name(0);
  (void)names.string_value(8, 64);
  names.new_capture();
  return 0;
}
