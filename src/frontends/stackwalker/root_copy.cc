#include "frontends/stackwalker/root_copy.h"

namespace mixstack::stackwalker {
namespace {
constexpr std::uint64_t kLargestRoot = 1 << 20;
}

void copy_roots(const MemoryReader& memory, RootSource* source, Capture& capture) {
  if (source == nullptr) return;
  std::vector<AddressRange> ranges;
  source->collect(memory, ranges);
  for (const AddressRange& range : ranges) {
    if (range.empty() || range.size() > kLargestRoot) continue;
    const auto size = static_cast<std::size_t>(range.size());
    auto bytes = std::make_unique<std::byte[]>(size);
    const auto read = memory.read_some(range.begin, {bytes.get(), size});
    if (!read) continue;
    capture.roots.push_back({range.begin, {bytes.get(), *read}});
    capture.storage.push_back(std::move(bytes));
  }
}

}  // namespace mixstack::stackwalker
