// LINK: mixstack_dotnet_heap
// GCDescs of foreign bytes. An input is the flags of a MethodTable, the words before it (the nearest first) and an
// object. Whatever they say, each reference that is told lies inside of the object, behind its MethodTable and before
// the next object's header, is what the object's bytes are, and no object has more of them than words a few times over.
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "dotnet/heap/gc_desc.h"

namespace {

using namespace mixstack;
using namespace mixstack::dotnet;

constexpr Address kTable = 0x7f0000001000;
constexpr std::size_t kWords = 32, kHeader = 4 + kWords * 8;

class Words final : public MemoryReader {
 public:
  Words(const std::uint8_t* data) {
    std::memcpy(bytes_ + kWords * 8, data, 4);
    for (std::size_t i = 0; i < kWords; i++) std::memcpy(bytes_ + (kWords - 1 - i) * 8, data + 4 + i * 8, 8);
  }
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    constexpr Address kBegin = kTable - kWords * 8;
    if (address < kBegin || address - kBegin >= sizeof bytes_) return fail(ErrorCode::unreadable_memory, address);
    const std::size_t n = std::min(sizeof bytes_ - static_cast<std::size_t>(address - kBegin), out.size());
    std::memcpy(out.data(), bytes_ + (address - kBegin), n);
    return n;
  }

 private:
  std::uint8_t bytes_[kWords * 8 + 4] = {};
};

void check(bool is_so) {
  if (!is_so) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHeader) return 0;
  const Words words(data);
  Layouts layouts;
  layouts.method_table.flags = {0};
  const auto desc = objects::GcDesc::read(RuntimeMemory(words, layouts), kTable);
  if (!desc) return 0;
  const std::span object(reinterpret_cast<const std::byte*>(data) + kHeader, size - kHeader);
  const std::uint64_t bytes = object.size() / 8 * 8;
  std::size_t told = 0;
  for (const std::uint64_t claimed : {bytes, bytes + 4096}) {
    desc->visit(object, claimed, [&](std::uint64_t offset, std::uint64_t value) {
      check(offset >= 8 && offset % 8 == 0 && offset + 8 <= object.size() && offset + 8 < claimed);
      std::uint64_t there = 0;
      std::memcpy(&there, object.data() + offset, 8);
      check(there == value && value != 0);
      told++;
    });
  }
  check(!desc->empty() || told == 0);
  check(told <= 2 * kWords * (object.size() / 8 + 1));
  return 0;
}
