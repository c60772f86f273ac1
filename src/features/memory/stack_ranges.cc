#include "features/memory/stack_ranges.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace mixstack::memory_use {
namespace {

// struct pthread begins with tcbhead_t: {itself, dtv, itself, ...} (sysdeps/x86_64/nptl/tls.h of glibc).
constexpr std::uint64_t kAlign = 64, kLeastBytes = 24;

bool is_thread_block(const std::byte* bytes, Address at) {
  std::uint64_t first = 0, third = 0;
  std::memcpy(&first, bytes, 8);
  std::memcpy(&third, bytes + 16, 8);
  return first == at && third == at;
}

}  // namespace

AddressRange stack_of(const MemoryReader& memory, const Region& mapping, Address sp, std::uint64_t page_bytes) {
  constexpr std::uint64_t kAtOnce = 16 << 10, kMost = 16 << 20;
  if (!mapping.path.empty()) return mapping.range;
  const Address first = sp & ~(kAlign - 1), last = mapping.range.end;
  std::vector<std::byte> bytes;
  for (Address at = first; at < last && at - first < kMost;) {
    bytes.resize(static_cast<std::size_t>(std::min(kAtOnce, last - at)));
    const auto got = memory.read_some(at, bytes);
    if (!got || *got < kAlign) break;
    for (std::uint64_t i = 0; i + kLeastBytes <= *got; i += kAlign)
      if (is_thread_block(bytes.data() + i, at + i))
        return {mapping.range.begin, std::min(last, (at + i + page_bytes) & ~(page_bytes - 1))};
    at += *got & ~(kAlign - 1);
  }
  return mapping.range;
}

}  // namespace mixstack::memory_use
