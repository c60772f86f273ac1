// LINK: mixstack_dotnet_heap
// The heap walk over foreign bytes. An input is a little process: its MethodTables (32 of 64 bytes each, at kTypes),
// its allocation contexts, then the bytes of a region. Whatever they say, the walk ends, counts no more bytes than the
// region has, and is whole only where it ended exactly; the same bytes in pieces give the same counts.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "dotnet/heap/aot_type_names.h"
#include "dotnet/heap/heap_walk.h"

namespace {

using namespace mixstack;
using namespace mixstack::dotnet;
using namespace mixstack::dotnet::objects;

constexpr Address kTypes = 0x10000, kRegion = 0x7f0000000000;
constexpr std::size_t kTypeBytes = 32 * 64, kContexts = 4, kContextBytes = kContexts * 4, kMostSteps = 1 << 16;

class Bytes final : public MemoryReader {
 public:
  Bytes(Address base, std::span<const std::byte> bytes) : base_(base), bytes_(bytes) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override {
    if (address < base_ || address - base_ >= bytes_.size()) return fail(ErrorCode::unreadable_memory, address);
    const auto rest = bytes_.subspan(static_cast<std::size_t>(address - base_));
    const std::size_t n = std::min(rest.size(), out.size());
    std::memcpy(out.data(), rest.data(), n);
    return n;
  }

 private:
  Address base_;
  std::span<const std::byte> bytes_;
};

void check(bool is_so) {
  if (!is_so) std::abort();
}

std::uint64_t bytes_in(const RegionCount& count) {
  std::uint64_t sum = 0;
  for (const TypeSum& s : count.sums) sum += s.bytes;
  return sum;
}

/// MethodTables as CoreCLR has them, or as NativeAOT has.
Layouts layouts_of(bool is_native_aot) {
  Layouts layouts;
  layouts.is_native_aot = is_native_aot;
  layouts.method_table.flags = {0};
  layouts.method_table.base_size = {4};
  layouts.method_table.ee_class_or_canon = {40};
  layouts.ee_class.method_table = {16};
  layouts.aot_method_table = {{0}, {4}, {8}, {16}, {18}, {24}};
  return layouts;
}

/// Names of the types, whatever they refer to.
void name_all(const RuntimeMemory& memory) {
  AotTypeNames names(memory, std::nullopt, [](Address) { return std::string("T"); });
  for (Address at = kTypes; at < kTypes + kTypeBytes; at += 64) check(names.name(at).size() <= 4096);
}

void walk_all(const std::uint8_t* data, std::size_t size, bool is_native_aot) {
  const std::span<const std::byte> all(reinterpret_cast<const std::byte*>(data), size);
  const Bytes types(kTypes, all.first(kTypeBytes));
  const Layouts layouts = layouts_of(is_native_aot);
  if (is_native_aot) name_all({types, layouts});
  ObjectSizes sizes{RuntimeMemory(types, layouts)};
  HeapWalk walk(sizes);
  const auto heap = all.subspan(kTypeBytes + kContextBytes);
  std::vector<AllocationContext> contexts;
  for (std::size_t i = 0; i < kContexts; i++) {
    std::uint16_t pointer = 0, bytes = 0;
    std::memcpy(&pointer, data + kTypeBytes + 4 * i, 2);
    std::memcpy(&bytes, data + kTypeBytes + 4 * i + 2, 2);
    contexts.push_back({kRegion + pointer, kRegion + pointer + bytes});
  }
  std::sort(contexts.begin(), contexts.end(),
            [](const AllocationContext& a, const AllocationContext& b) { return a.pointer < b.pointer; });
  const GcRegion region{{kRegion, kRegion + heap.size() / 8 * 8}, 0, 0, HeapGeneration::zero};
  std::size_t steps = 0;
  const auto whole = bytes_of(kRegion, heap);
  const RegionCount first = walk.count(region, contexts, [&](Address at, std::uint64_t most) {
    check(++steps < kMostSteps && at >= kRegion && at < region.objects.end && most <= region.objects.end - at);
    return whole(at, most);
  });
  check(bytes_in(first) <= region.objects.size());
  check((first.end == RegionCount::End::whole) == (first.at == region.objects.end));
  const Bytes memory(kRegion, heap);
  const RegionCount second = walk.count(region, contexts, bytes_of(memory, 48));
  check(second.at == first.at && bytes_in(second) == bytes_in(first) && second.sums.size() == first.sums.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kTypeBytes + kContextBytes) return 0;
  for (const bool is_native_aot : {false, true}) walk_all(data, size, is_native_aot);
  return 0;
}
