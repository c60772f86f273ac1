// Input: the runtime's ThreadStore; the data of the image, or the object of a server's heap.
// Output: whether threads are held; where collections are counted.
// Algorithm: a ThreadStore is {first thread, RuntimeInstance, lock} (src/coreclr/nativeaot/Runtime/threadstore.h); the
// second proves it, for a global leads there, too. The lock is a recursive mutex, of glibc or of musl. The table of
// generations proves itself by its last words: each entry points at constants of its generation, which lie in the
// image, one behind the other at one distance; and old generations are not collected more often than young ones.
// Bounds: kMostData bytes of an image, kMostOfHeap bytes of a heap.
#include "dotnet/heap/aot_collector.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace mixstack::dotnet::objects {
namespace {

// `dynamic_data`; the same in .NET 8 to 11 (dotnet/counters).
constexpr std::size_t kEntry = 0xa8, kCollections = 0x58, kConstants = 0xa0, kGenerations = 5;
constexpr std::size_t kTable = kEntry * kGenerations;
constexpr std::uint64_t kMostData = 64 << 20, kMostOfHeap = 64 << 10;
constexpr std::uint64_t kLeastConstants = 0x20, kMostConstants = 0x100;

std::uint64_t word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

bool is_table(std::span<const std::byte> bytes, const AddressRange& image) {
  const std::uint64_t first = word(bytes, kConstants), step = word(bytes, kEntry + kConstants) - first;
  if (first < image.begin || first >= image.end || first % 8 != 0) return false;
  if (step < kLeastConstants || step > kMostConstants || step % 8 != 0) return false;
  for (std::size_t g = 0; g < kGenerations; g++)
    if (word(bytes, g * kEntry + kConstants) != first + g * step) return false;
  const auto collections = [&](std::size_t g) { return word(bytes, g * kEntry + kCollections); };
  return collections(0) >= collections(1) && collections(1) >= collections(2);
}

/// As much as can be read from the begin on.
std::vector<std::byte> bytes_of_range(const MemoryReader& memory, const AddressRange& range) {
  constexpr std::size_t kPiece = 1 << 16;
  std::vector<std::byte> bytes;
  for (Address at = range.begin; at < range.end;) {
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(kPiece, range.end - at));
    bytes.resize(bytes.size() + n);
    const auto got = memory.read_some(at, std::span(bytes).last(n));
    const std::size_t done = got ? *got : 0;
    bytes.resize(bytes.size() - (n - done));
    if (done == 0) break;
    at += done;
  }
  return bytes;
}

/// The only table in a range; 0: none, or several.
Address table_in(const MemoryReader& memory, const AddressRange& range, const AddressRange& image) {
  const auto bytes = bytes_of_range(memory, range);
  Address found = 0;
  for (std::size_t at = 0; at + kTable <= bytes.size(); at += 8) {
    if (!is_table(std::span(bytes).subspan(at, kTable), image)) continue;
    if (found != 0) return 0;
    found = range.begin + at;
  }
  return found;
}

}  // namespace

std::optional<bool> are_threads_locked(const RuntimeMemory& memory) {
  constexpr std::uint32_t kRecursive = 1;  // PTHREAD_MUTEX_RECURSIVE, of glibc and of musl
  struct Lock {
    std::uint32_t first, second, owner, users, kind, padding;
  };
  const Address store = memory.through(memory.layouts().globals.thread_store).value_or(0);
  const Address instance = memory.through(memory.layouts().globals.runtime_instance).value_or(0);
  if (store == 0 || instance == 0 || memory.pointer_at(store + 8).value_or(0) != instance) return std::nullopt;
  const auto lock = memory.reader().read<Lock>(store + 16);
  if (!lock) return std::nullopt;
  // glibc: {lock, count, owner, users, kind}. musl: {type, lock, waiters, ...}, whose fifth word is not used.
  if (lock->kind == kRecursive && lock->first <= 2) return lock->first != 0;
  if (lock->kind == 0 && lock->first == kRecursive) return lock->second != 0;
  return std::nullopt;
}

std::optional<AotCounts> find_aot_counts(const RuntimeMemory& memory, const Collector& collector,
                                         const AddressRange& data) {
  if (data.begin % 8 != 0 || data.end < data.begin || data.size() > kMostData) return std::nullopt;
  AddressRange searched = data;
  if (collector.is_server) {
    const Address heap = memory.pointer_at(memory.pointer_at(collector.heap_pointers).value_or(0)).value_or(0);
    if (heap == 0 || heap % 8 != 0 || heap > ~Address{0} - kMostOfHeap) return std::nullopt;
    searched = {heap, heap + kMostOfHeap};
  }
  const Address table = table_in(memory.reader(), searched, data);
  if (table == 0) return std::nullopt;
  return AotCounts{table + kCollections, table + kEntry + kCollections};
}

}  // namespace mixstack::dotnet::objects
