// Reads the handle tables (src/coreclr/gc/handletable*.{h,cpp}), which nothing describes but their map.
// Input: the map's address. Output: handles by kind.
// Algorithm: maps in a list -> buckets -> tables -> segments of 64 kB in a list. A segment begins with bytes for each
// of its 120 blocks (which block follows in its chain, its kind, where its user data lies) and for each kind the last
// block of its chain, which is a ring. Blocks hold 64 handles each. The numbers are those of 13 kinds, the same in 10
// and 11.
// Bounds: kMostMaps, kMostTables of a bucket, kMostSegments in all, each once, kMostHandles; a ring has as many blocks
// as there are.
#include "dotnet/heap/gc_handles.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_set>

namespace mixstack::dotnet::objects {
namespace {

constexpr std::size_t kKinds = 13, kBlocks = 120, kSlots = 64, kNone = 0xff;
constexpr std::size_t kSegmentBytes = 1 << 16;
constexpr std::size_t kChains = 480, kTypes = 1560, kUserData = 1680, kTails = 1920, kNext = 1998, kTable = 2006,
                      kValues = 4096;
constexpr std::uint64_t kFirstSegment = 56;  // of a table
constexpr std::size_t kMostMaps = 64, kBuckets = 10, kMostTables = 1024, kMostSegments = 1 << 14;
constexpr std::size_t kMostHandles = 1 << 24;

constexpr unsigned kFirstReady = 4, kLastReady = 6;  // of CFinalize's fill pointers (src/coreclr/gc/gcpriv.h)
constexpr std::uint64_t kMostReady = 1 << 24;

class Reader {
 public:
  Reader(const RuntimeMemory& memory, std::size_t tables) : memory_(memory), tables_(tables), bytes_(kSegmentBytes) {}

  GcHandles read(Address map) {
    for (std::size_t maps = 0; map != 0; maps++) {
      const auto buckets = memory_.pointer_at(map), next = memory_.pointer_at(map + 8);
      if (!buckets || !next || maps == kMostMaps) return torn();
      std::array<Address, kBuckets> of{};
      if (!memory_.reader().read_exact(*buckets, std::as_writable_bytes(std::span(of)))) return torn();
      for (const Address bucket : of)
        if (bucket != 0) read_bucket(bucket);
      map = *next;
    }
    return std::move(out_);
  }

 private:
  GcHandles torn() {
    out_.is_whole = false;
    return std::move(out_);
  }

  /// As many tables as processors with server GC, else one; what follows is no table.
  void read_bucket(Address bucket) {
    const Address tables = memory_.pointer_at(bucket).value_or(0);
    for (std::size_t i = 0; i < tables_; i++) {
      const Address table = memory_.pointer_at(tables + 8 * i).value_or(0);
      if (table == 0) continue;
      const Address first = memory_.pointer_at(table + kFirstSegment).value_or(0);
      if (first == 0 || memory_.pointer_at(first + kTable).value_or(0) != table) {
        if (i == 0) out_.is_whole = false;
        return;
      }
      read_table(table, first);
    }
  }

  /// Its end may not be there yet: blocks that nobody has used.
  bool read_segment(Address segment) {
    std::fill(bytes_.begin(), bytes_.end(), std::byte{0});
    filled_ = 0;
    while (filled_ < kSegmentBytes) {
      const auto n = memory_.reader().read_some(segment + filled_, std::span(bytes_).subspan(filled_));
      if (!n || *n == 0) break;
      filled_ += *n;
    }
    return filled_ >= kValues;
  }

  void read_table(Address table, Address segment) {
    while (segment != 0) {
      const bool is_new = segments_.size() < kMostSegments && segments_.insert(segment).second;
      if (!is_new || !read_segment(segment) || word(kTable) != table) {
        out_.is_whole = false;
        return;
      }
      for (std::size_t kind = 0; kind + 1 < kKinds; kind++)  // the last kind is that of second objects
        if (!read_chain(segment, kind)) out_.is_whole = false;
      segment = word(kNext);
    }
  }

  bool read_chain(Address segment, std::size_t kind) {
    const std::size_t tail = byte(kTails + kind);
    if (tail == kNone) return true;
    if (tail >= kBlocks) return false;
    const std::size_t first = byte(kChains + tail);
    std::size_t block = first;
    for (std::size_t n = 0; n < kBlocks; n++) {
      if (block >= kBlocks || byte(kTypes + block) != kind) return false;
      if (kValues + (block + 1) * kSlots * 8 > filled_) return false;
      read_block(segment, kind, block);
      block = byte(kChains + block);
      if (block == first) return true;
    }
    return false;
  }

  void read_block(Address segment, std::size_t kind, std::size_t block) {
    const bool is_dependent = static_cast<HandleKind>(kind) == HandleKind::dependent;
    const std::size_t user = is_dependent ? byte(kUserData + block) : kNone;
    for (std::size_t slot = 0; slot < kSlots; slot++) {
      const std::size_t at = kValues + (block * kSlots + slot) * 8;
      const Address object = word(at);
      if (object == 0) continue;
      if (out_.handles.size() == kMostHandles) {
        out_.is_whole = false;
        return;
      }
      const Address second = user < kBlocks ? word(kValues + (user * kSlots + slot) * 8) : 0;
      out_.handles.push_back({static_cast<HandleKind>(kind), segment + at, object, second});
    }
  }

  [[nodiscard]] std::size_t byte(std::size_t at) const { return static_cast<std::size_t>(bytes_[at]); }
  [[nodiscard]] std::uint64_t word(std::size_t at) const {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  const RuntimeMemory& memory_;
  std::size_t tables_;
  std::vector<std::byte> bytes_;
  std::size_t filled_ = 0;
  std::unordered_set<Address> segments_;  ///< that were read
  GcHandles out_;
};
static_assert(kValues + kBlocks * kSlots * 8 == kSegmentBytes);

}  // namespace

GcHandles read_handles(const RuntimeMemory& memory, const Collector& collector) {
  if (collector.handle_table_map == 0) return {{}, false};
  return Reader(memory, collector.is_server ? kMostTables : 1).read(collector.handle_table_map);
}

ReadyObjects read_ready_objects(const RuntimeMemory& memory, const Collector& collector) {
  ReadyObjects out;
  const auto heaps = heaps_of(memory, collector);
  if (heaps.empty() || !collector.fill_pointers) return {{}, false};
  for (const Collector::Heap& heap : heaps) {
    const Address queue = memory.pointer_at(heap.finalize_queue).value_or(0);
    const Address fill = queue + collector.fill_pointers.offset;
    const auto first = memory.pointer_at(fill + 8u * kFirstReady), last = memory.pointer_at(fill + 8u * kLastReady);
    if (queue == 0 || !first || !last || *last < *first || (*last - *first) / 8 > kMostReady - out.objects.size()) {
      out.is_whole = false;
      continue;
    }
    std::vector<Address> some((*last - *first) / 8);
    if (some.empty()) continue;
    if (!memory.reader().read_exact(*first, std::as_writable_bytes(std::span(some)))) {
      out.is_whole = false;
      continue;
    }
    out.objects.insert(out.objects.end(), some.begin(), some.end());
  }
  return out;
}

}  // namespace mixstack::dotnet::objects
