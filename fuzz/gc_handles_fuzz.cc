// LINK: mixstack_dotnet_heap
// Handle tables of foreign bytes. An input is one segment (or its beginning: the rest is zeros), with a map, a bucket
// and a table around it that lead to it; its next segment is itself or whatever its bytes say. Whatever they say,
// reading ends, and each handle that is told is a word of the segment that is not null.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "dotnet/heap/gc_handles.h"

namespace {

using namespace mixstack;
using namespace mixstack::dotnet;

constexpr Address kMap = 0x10000, kBuckets = 0x11000, kBucket = 0x12000, kTables = 0x13000, kTable = 0x14000,
                  kSegment = 0x7f0000000000;
constexpr std::size_t kSegmentBytes = 1 << 16, kTableAt = 2006, kNextAt = 1998;

class Tables final : public MemoryReader {
 public:
  Tables(const std::uint8_t* data, std::size_t size) : segment_(kSegmentBytes) {
    std::memcpy(segment_.data(), data, std::min(size, kSegmentBytes));
    std::memcpy(segment_.data() + kTableAt, &kTable, 8);
    Address next = 0;
    std::memcpy(&next, segment_.data() + kNextAt, 8);
    if (next % 3 != 0) next = next % 3 == 1 ? 0 : kSegment;
    std::memcpy(segment_.data() + kNextAt, &next, 8);
  }
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    if (address >= kSegment && address - kSegment < kSegmentBytes) {
      const std::size_t n = std::min(kSegmentBytes - static_cast<std::size_t>(address - kSegment), out.size());
      std::memcpy(out.data(), segment_.data() + (address - kSegment), n);
      return n;
    }
    for (const auto& [at, value] : {std::pair<Address, Address>{kMap, kBuckets},
                                    {kMap + 8, 0},
                                    {kBuckets, kBucket},
                                    {kBucket, kTables},
                                    {kTables, kTable},
                                    {kTable + 56, kSegment}}) {
      if (address != at) continue;
      const std::size_t n = std::min<std::size_t>(8, out.size());
      std::memcpy(out.data(), &value, n);
      return n;
    }
    if (address > kBuckets && address < kBuckets + 80) {  // the other buckets: none
      const std::size_t n = std::min<std::size_t>(kBuckets + 80 - address, out.size());
      std::memset(out.data(), 0, n);
      return n;
    }
    return fail(ErrorCode::unreadable_memory, address);
  }

 private:
  std::vector<std::byte> segment_;
};

void check(bool is_so) {
  if (!is_so) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Tables memory(data, size);
  const Layouts layouts;
  Collector collector;
  collector.handle_table_map = kMap;
  const auto found = objects::read_handles(RuntimeMemory(memory, layouts), collector);
  for (const objects::GcHandle& h : found.handles) {
    check(h.at >= kSegment + 4096 && h.at < kSegment + kSegmentBytes && h.at % 8 == 0 && h.object != 0);
    const auto there = memory.read<std::uint64_t>(h.at);
    check(there && *there == h.object);
    check(h.second == 0 || h.kind == objects::HandleKind::dependent);
  }
  return 0;
}
