// LINK: mixstack_dotnet_code
// The contract descriptor: JSON, pointer table, layouts, contracts; then threads and explicit Frames read with whatever
// layout came out of it, over memory made of the same bytes.
#include <cstring>
#include <vector>

#include "dotnet/code/exceptions.h"
#include "dotnet/code/frames/frame_update.h"
#include "dotnet/code/supplement.h"
#include "dotnet/code/threads.h"
#include "dotnet/contracts/contracts.h"

namespace {

using namespace mixstack;

// Every address is readable: it holds the fuzzer's bytes over and over.
class WrappedMemory final : public MemoryReader {
 public:
  explicit WrappedMemory(std::span<const std::byte> bytes) : bytes_(bytes) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    if (bytes_.empty()) return fail(ErrorCode::unreadable_memory, address);
    for (std::size_t i = 0; i < out.size(); i++)
      out[i] = bytes_[static_cast<std::size_t>((address + i) % bytes_.size())];
    return out.size();
  }

 private:
  std::span<const std::byte> bytes_;
};

void use_layouts(const dotnet::Descriptor& descriptor, const MemoryReader& memory) {
  dotnet::Layouts layouts = dotnet::resolve_layouts(descriptor);
  (void)dotnet::Contracts::judge(descriptor, layouts);
  auto supplement = dotnet::Supplement::apply(layouts);
  supplement.verify(memory, layouts);
  const dotnet::RuntimeMemory runtime(memory, layouts);
  const Registers before(layouts.arch);
  for (const auto& thread : dotnet::read_threads(runtime).threads) {
    (void)dotnet::thread_name(runtime, thread);
    (void)dotnet::current_exceptions(runtime, thread);
    auto chain = dotnet::read_frame_chain(runtime, thread.frame, thread.stack);
    if (chain.frames.size() > 64) chain.frames.resize(64);
    for (const auto& frame : chain.frames) (void)dotnet::frame_method(runtime, frame);
    break;
  }
  for (std::size_t type = 0; type < dotnet::kFrameTypes; type++) {
    const dotnet::FrameRecord frame{0x1000 + 64 * type, static_cast<dotnet::FrameType>(type), 0};
    (void)dotnet::update_from_frame(runtime, frame, before);
    (void)dotnet::frame_return_address(runtime, frame);
    (void)dotnet::frame_method(runtime, frame);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const std::vector<std::uint64_t> pointers(24, 0x40);
  if (auto d = dotnet::Descriptor::parse(bytes, pointers, size % 2 == 0 ? 8 : 4)) use_layouts(*d, WrappedMemory(bytes));
  // As a structure in memory, sub-descriptors and all.
  const WrappedMemory memory(bytes);
  (void)dotnet::Descriptor::read(memory, 0);
  return 0;
}
