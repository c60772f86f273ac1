// LINK: mixstack_engine_unwind
// An image that a program registered for debuggers, as its bytes are: what it says of code lies in its code, and
// unwinding by it ends.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/memory/buffer_memory.h"
#include "engine/images/jit_images.h"
#include "engine/unwind/unwind_table.h"

using namespace mixstack;

namespace {

constexpr Address kDescriptor = 0x1000, kEntry = 0x1100, kImage = 0x10000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > (1u << 16)) return 0;
  memory::BufferMemory memory;
  const std::uint64_t descriptor[] = {1, kEntry, kEntry}, entry[] = {kEntry, 0, kImage, size};
  memory.add(kDescriptor, std::as_bytes(std::span(descriptor)));
  memory.add(kEntry, std::as_bytes(std::span(entry)));
  memory.add(kImage, std::as_bytes(std::span(data, size)));
  const std::vector<Address> lists{kDescriptor};
  const auto images = images::JitImages::read(memory, lists, Arch::x86_64, nullptr, {});
  if (images::JitImages::read(memory, lists, Arch::x86_64, images.get(), {})->images().size() !=
      images->images().size())
    std::abort();
  for (const auto& image : images->images()) {
    const auto table = unwind::UnwindTable::create(image->elf());
    for (const AddressRange& range : image->code()) {
      for (Address at = range.begin; at < range.end && at - range.begin < 256; at += 5) {
        if (images->find(at) != image.get()) std::abort();
        const auto symbol = image->find(at);
        if (symbol && (at < symbol->begin || at >= symbol->end || symbol->name.empty())) std::abort();
        (void)table->rule(at);
      }
    }
  }
  return 0;
}
