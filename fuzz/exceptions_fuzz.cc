// LINK: mixstack_dotnet_names mixstack_test_support
// Exceptions in a heap made of the input: words of it are put over well-formed objects, so that damage reaches every
// step, and every pointer leads somewhere.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dotnet/names/exception_reader.h"
#include "support/fake_exceptions.h"

using namespace mixstack;
using namespace mixstack::dotnet;
using namespace mixstack::dotnet::names;

namespace {

/// Changes words of other memory: each 12 bytes of the input are a place and a value.
class Damaged final : public MemoryReader {
 public:
  Damaged(const MemoryReader& whole, std::span<const std::byte> input) : whole_(whole), input_(input) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    auto n = whole_.read_some(address, out);
    if (!n) return n;
    for (std::size_t i = 0; i + 12 <= input_.size(); i += 12) {
      std::uint32_t place = 0;
      std::memcpy(&place, input_.data() + i, 4);
      const Address at = 0x100000 + place % 0x20000;
      for (std::size_t b = 0; b < 8; b++)
        if (at + b - address < *n) out[static_cast<std::size_t>(at + b - address)] = input_[i + 4 + b];
    }
    return n;
  }

 private:
  const MemoryReader& whole_;
  std::span<const std::byte> input_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 1200) return 0;
  FakeExceptions heap;
  const Address inner = heap.object(heap.exception, heap.text(u"inner \U0001F600"), 0, heap.trace(4));
  const Address other = heap.object(heap.mine, heap.text(u"other"), inner, 0, heap.list({inner}));
  const Address outer = heap.object(heap.aggregate, 0, inner, heap.trace(2), heap.list({inner, other, inner}));
  const Damaged memory(heap.memory, std::as_bytes(std::span(data, size)));
  const RuntimeMemory runtime = heap.runtime().with(memory);
  MethodNames names(runtime, {});
  ExceptionReader reader(runtime, nullptr, names);
  for (const Address object : {outer, other, inner}) {
    const ExceptionInFlight result = reader.read(object);
    std::size_t frames = 0;
    for (std::size_t i = 0; i < result.chain.size(); i++) {
      const ManagedException& e = result.chain[i];
      frames += e.thrown_at.size();
      // Parents stand before their children; messages are bounded.
      if (e.inner_of != ManagedException::kOutermost && e.inner_of >= i) __builtin_trap();
      if (e.message.size() > 3 * ExceptionReader::kMaxMessage + 8) __builtin_trap();
    }
    if (result.chain.size() > ExceptionReader::kMaxChain || frames > ExceptionReader::kMaxFrames) __builtin_trap();
  }
  return 0;
}
