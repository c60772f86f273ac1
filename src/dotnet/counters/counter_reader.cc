// Input: places of a runtime's counters. Output: RuntimeCounters.
// Algorithm: one read for each structure. Numbers that the collector writes may change between two reads, so numbers
// that belong together are compared: the last collection of generation 0 is the last one of all, higher generations are
// collected less often, no more survives than there was. Where they disagree, they are read once more, and then left
// out. Threads are read one object at a time along the runtime's list, which may change meanwhile: then it ends early,
// and threads are left out altogether.
// Bounds: kMostThreads, kMostHeaps.
#include "dotnet/counters/counter_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "base/system/byte_cursor.h"
#include "dotnet/contracts/algorithms.h"

namespace mixstack::dotnet::counters {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 56, kMostOfContext = std::uint64_t{1} << 32;
constexpr std::uint32_t kMaxGeneration = 2, kMostReason = 31;
constexpr std::uint64_t kNanosecondsOfTick = 100;
constexpr std::uint64_t kPage = 4096;

/// gc_reason of coreclr/gc/gcinterface.h.
GcReason reason_of(std::uint32_t number) {
  switch (number) {
    case 0:
      return GcReason::small_objects;
    case 4:
      return GcReason::large_objects;
    case 1:
    case 7:
    case 10:
    case 17:
      return GcReason::induced;
    case 2:
    case 9:
    case 11:
    case 13:
      return GcReason::low_memory;
    case 5:
    case 6:
      return GcReason::out_of_space;
    default:
      return GcReason::other;
  }
}

template <class T>
T at(std::span<const std::byte> bytes, std::uint64_t offset) {
  return base::load_at<T>(bytes, offset).value_or(T{});
}

/// Sums over heaps; `survived` is weighted by what there was before.
struct Sum {
  GcGeneration out;
  double survived = 0, weight = 0, only = -1;
  std::uint64_t clock = 0;

  void add(std::span<const std::byte> data, bool is_first) {
    using D = GenerationData;
    const auto share = at<float>(data, D::kSurvived);
    const auto noted = at<std::uint64_t>(data, D::kSizeBefore);
    // A heap that is new has not noted one, and holds any bytes there.
    const std::uint64_t before = noted < kMostBytes ? noted : 0;
    if (is_first) {  // all heaps are collected together
      out.collections = at<std::uint64_t>(data, D::kCollections);
      clock = at<std::uint64_t>(data, D::kClock);
    }
    out.size_before += before;
    out.size_after += at<std::uint64_t>(data, D::kSizeAfter);
    out.fragmentation += at<std::uint64_t>(data, D::kFragmentation);
    out.budget += at<std::uint64_t>(data, D::kBudget);
    only = is_first ? share : -1;
    if (std::isfinite(share) && share >= 0) {
      survived += static_cast<double>(share) * static_cast<double>(before);
      weight += static_cast<double>(before);
    }
  }
  void finish() {
    if (out.collections == 0) return;
    const double share = only >= 0 ? only : weight > 0 ? survived / weight : -1;
    if (share >= 0 && share <= 1) out.survived = share;
  }
  [[nodiscard]] bool is_possible() const {
    return out.size_before < kMostBytes && out.size_after < kMostBytes && out.fragmentation < kMostBytes;
  }
};

}  // namespace

RuntimeCounters CounterReader::read(std::vector<Address>* thrown) const {
  RuntimeCounters out;
  out.exceptions = number<std::uint32_t>(places_.exceptions);
  out.methods = number<std::uint64_t>(places_.methods);
  out.il_bytes = number<std::uint64_t>(places_.il_bytes);
  if (const auto ticks = number<std::uint64_t>(places_.compile_ticks);
      ticks && *ticks < kMostBytes / kNanosecondsOfTick)
    out.compiling = std::chrono::nanoseconds(static_cast<std::int64_t>(*ticks * kNanosecondsOfTick));
  if (const auto time = number<std::uint64_t>(places_.pauses); time && *time < kMostBytes)
    out.pauses = std::chrono::microseconds(static_cast<std::int64_t>(*time * places_.pause_factor / 10));
  read_collector(out);
  read_threads(out, thrown);
  return out;
}

void CounterReader::read_collector(RuntimeCounters& out) const {
  out.is_server = collector_ && collector_->is_server;
  std::array<std::byte, Settings::kSize> settings{};
  if (places_.settings == 0 || !memory_.reader().read_exact(places_.settings, settings)) return;
  const auto generation = at<std::uint32_t>(settings, Settings::kGeneration),
             reason = at<std::uint32_t>(settings, Settings::kReason);
  const auto number = at<std::uint64_t>(settings, Settings::kNumber);
  if (generation > kMaxGeneration || reason > kMostReason) return;
  if (number != 0) out.last = GcLast{number, generation, reason_of(reason)};
  out.generations = generations(number);
  if (out.generations.empty()) {
    const auto again = memory_.reader().read<std::uint64_t>(places_.settings);
    if (again) out.generations = generations(*again);
  }
  out.committed = committed(number);
}

/// The table of each heap.
std::vector<Address> CounterReader::tables() const {
  if (places_.generations != 0) return {places_.generations};
  if (!places_.generations_of_heap || !collector_) return {};
  const auto count = memory_.reader().read<std::uint32_t>(collector_->heap_count);
  const Address pointers = memory_.pointer_at(collector_->heap_pointers).value_or(0);
  if (!count || *count == 0 || *count > kMostHeaps || pointers == 0) return {};
  std::vector<Address> heaps(*count);
  if (!memory_.reader().read_exact(pointers, std::as_writable_bytes(std::span(heaps)))) return {};
  for (Address& heap : heaps) heap += places_.generations_of_heap.offset;
  return heaps;
}

std::vector<GcGeneration> CounterReader::generations(std::uint64_t number) const {
  using D = GenerationData;
  std::array<Sum, D::kGenerations> sums;
  std::array<std::byte, D::kGenerations * D::kSize> bytes{};
  const std::vector<Address> all = tables();
  for (std::size_t heap = 0; heap < all.size(); heap++) {
    if (!memory_.reader().read_exact(all[heap], bytes)) return {};
    for (std::size_t i = 0; i < sums.size(); i++)
      sums[i].add(std::span(bytes).subspan(i * D::kSize, D::kSize), heap == 0);
  }
  if (all.empty()) return {};
  // A collection may begin between the two reads.
  const std::uint64_t clock = sums[0].clock;
  if (clock + 2 < number || clock > number + 2) return {};
  if (sums[1].out.collections > sums[0].out.collections || sums[2].out.collections > sums[1].out.collections) return {};
  if (sums[0].out.collections > clock + 2) return {};
  std::vector<GcGeneration> out;
  for (Sum& sum : sums) {
    if (!sum.is_possible()) return {};
    if (all.size() > 1) sum.only = -1;
    sum.finish();
    out.push_back(sum.out);
  }
  return out;
}

/// The findings of the newest collection, of whatever kind.
std::optional<std::uint64_t> CounterReader::committed(std::uint64_t number) const {
  std::optional<std::uint64_t> found;
  std::uint64_t newest = 0;
  std::array<std::byte, LastInfo::kSize> info{};
  for (std::size_t kind = 0; kind < places_.last_infos.size(); kind++) {
    const Address place = places_.last_infos[kind];
    if (place == 0 || !memory_.reader().read_exact(place, info)) continue;
    const auto index = at<std::uint64_t>(info, LastInfo::kIndex),
               committed = at<std::uint64_t>(info, LastInfo::kCommitted),
               size = at<std::uint64_t>(info, LastInfo::kHeapSize);
    const auto generation = at<std::uint8_t>(info, LastInfo::kGeneration),
               concurrent = at<std::uint8_t>(info, LastInfo::kConcurrent);
    const bool is_background = kind >= 2;
    const bool is_right = index > newest && index <= number + 2 && committed % kPage == 0 && committed < kMostBytes &&
                          committed >= size && generation <= kMaxGeneration &&
                          (!is_background || (generation == kMaxGeneration && concurrent == 1));
    if (!is_right) continue;
    newest = index;
    found = committed;
  }
  return found;
}

std::optional<AllocatedBytes> CounterReader::allocated(Address locals) const {
  const std::uint32_t first = std::min({places_.alloc_pointer.offset, places_.alloc_limit.offset,
                                        places_.alloc_small.offset, places_.alloc_large.offset});
  std::array<std::byte, 64> bytes{};
  const auto word = [&](Field f) { return at<std::uint64_t>(bytes, f.offset - first); };
  const auto got = memory_.reader().read_some(locals + first, bytes);
  if (!got || *got < 32) return std::nullopt;
  const std::uint64_t pointer = word(places_.alloc_pointer), limit = word(places_.alloc_limit),
                      small = word(places_.alloc_small), large = word(places_.alloc_large);
  if (small > kMostBytes || large > kMostBytes || pointer > limit || limit - pointer > kMostOfContext)
    return std::nullopt;
  const std::uint64_t unused = limit - pointer;
  if (unused > small) return std::nullopt;
  AllocatedBytes out;
  out.small = small - unused;
  out.large = large;
  out.limit_at = locals + places_.alloc_limit.offset;
  out.large_at = locals + places_.alloc_large.offset;
  return out;
}

struct CounterReader::Threads {
  std::vector<AllocatedBytes> allocated;
  std::vector<Address> trackers;  ///< of threads that handle exceptions
  std::uint64_t contentions = 0;
};

/// False: the list has no end, or a part of it went away meanwhile.
bool CounterReader::read_list(Threads& out) const {
  constexpr std::uint32_t kDead = 0x800, kUnstarted = 0x400;  // of ThreadState, coreclr/vm/threads.h
  const Layouts& l = memory_.layouts();
  const ThreadLayout& fields = l.thread;
  if (fields.extent == 0 || fields.extent > kMaxThreadExtent || !fields.link_next || !fields.os_id || !fields.state)
    return false;
  const bool has_bytes = places_.alloc_small && places_.alloc_large && fields.runtime_thread_locals;
  const bool links_to_links = l.algorithms.thread_links == ThreadLinks::link_to_link;
  const Address store = memory_.through(l.globals.thread_store).value_or(0);
  if (store == 0 || !l.thread_store.first_thread_link) return false;
  const Field contended = places_.contentions_of_thread;
  std::vector<std::byte> bytes(std::max(fields.extent, contended ? contended.offset + 4 : 0u));
  const auto word = [&](Field f) { return at<std::uint64_t>(bytes, f.offset); };
  std::unordered_set<Address> seen;
  Address link = memory_.pointer_at(store + l.thread_store.first_thread_link.offset).value_or(0);
  for (; link != 0; link = word(fields.link_next)) {
    const Address thread = links_to_links ? link - fields.link_next.offset : link;
    if (seen.size() == kMostThreads || !seen.insert(link).second) return false;
    if (!memory_.reader().read_exact(thread, bytes)) return false;
    if (contended) out.contentions += at<std::uint32_t>(bytes, contended.offset);
    const std::uint64_t os_id = word(fields.os_id);
    const bool is_alive = (at<std::uint32_t>(bytes, fields.state.offset) & (kDead | kUnstarted)) == 0;
    if (!is_alive || os_id == 0 || os_id > UINT32_MAX) continue;
    if (const Address tracker = fields.exception_tracker ? word(fields.exception_tracker) : 0; tracker != 0)
      out.trackers.push_back(tracker);
    if (!has_bytes) continue;
    if (auto allocated = this->allocated(word(fields.runtime_thread_locals))) {
      allocated->os_id = static_cast<std::uint32_t>(os_id);
      allocated->thread = thread;
      out.allocated.push_back(*allocated);
    }
  }
  return !seen.empty();
}

/// The type of the innermost exception; 0: there is none any more.
Address CounterReader::thrown_type(Address tracker) const {
  const Layouts& l = memory_.layouts();
  Address object = memory_.pointer(tracker, l.exception_info.thrown_object).value_or(0);
  if (object != 0 && l.algorithms.thrown_object == ThrownObject::handle)
    object = memory_.pointer_at(object).value_or(0);
  if (object == 0) return 0;
  const auto& unmask = l.globals.object_to_method_table_unmask;
  return memory_.pointer(object, l.object.method_table).value_or(0) & ~(unmask.known ? unmask.value : Address{7});
}

void CounterReader::read_threads(RuntimeCounters& out, std::vector<Address>* thrown) const {
  if (memory_.pointer_size() != 8) return;
  constexpr int kTries = 3;
  Threads threads;
  bool is_whole = false;
  for (int i = 0; i < kTries && !is_whole; i++) {
    threads = {};
    is_whole = read_list(threads);
  }
  if (is_whole) out.threads = std::move(threads.allocated);
  if (thrown != nullptr)
    for (const Address tracker : threads.trackers)
      if (const Address type = thrown_type(tracker); type != 0) thrown->push_back(type);
  const auto of_locks = number<std::uint64_t>(lock_contentions_),
             ended = number<std::uint64_t>(places_.ended_contentions);
  if (places_.monitors_are_locks)
    out.contentions = of_locks;
  else if (is_whole && ended && places_.contentions_of_thread)
    out.contentions = *ended + threads.contentions + of_locks.value_or(0);
}

}  // namespace mixstack::dotnet::counters
