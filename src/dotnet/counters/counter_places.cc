// Input: a loaded runtime: its image's segments, its memory, layouts, collector. Output: places of its counters.
// Algorithm: look for the functions that managed code asks for each counter (internal_calls.h), follow them
// (trace.h), and take the address that the result was read from. The collector's object, which such functions pass on,
// leads to more of its functions by their places in its table of virtual functions (IGCHeap in
// coreclr/gc/gcinterface.h); they must read one structure, at distances that are known. A place that does not prove
// itself so is left out.
// Order: the collector's object comes from the function that counts collections.
// Bounds: those of the two parts; ten functions, each followed a few times.
#include "dotnet/counters/counter_places.h"

#include <array>

#include "base/memory/cached_memory.h"
#include "dotnet/counters/internal_calls.h"
#include "dotnet/counters/trace.h"

namespace mixstack::dotnet::counters {
namespace {

enum Call : unsigned {
  kExceptions,
  kMethods,
  kIlBytes,
  kCompileTicks,
  kCollections,
  kPauses,
  kMemoryInfo,
  kAllocatedBytes,
  kContentions,
  kCalls
};
constexpr std::array<InternalCall, kCalls> kNames{{{"GetExceptionCount"},
                                                   {"GetCompiledMethodCount"},
                                                   {"GetCompiledILBytes"},
                                                   {"GetCompilationTimeInTicks"},
                                                   {"_CollectionCount"},
                                                   {"_GetTotalPauseDuration"},
                                                   {"GetMemoryInfo"},
                                                   {"GetAllocatedBytesForCurrentThread"},
                                                   {"Monitor_GetLockContentionCount", false}}};

// Places in the table of virtual functions, in bytes.
constexpr std::uint32_t kLatencyMode = 0x70, kCondemnedGeneration = 0x128, kGcCount = 0x138;
// The object that GetMemoryInfo fills in (GCMemoryInfoData of GC.CoreCLR.cs), in words, and the kinds it may be asked
// for.
constexpr std::size_t kHeapSizeWord = 4, kCommittedWord = 6, kIndexWord = 10;
constexpr std::uint64_t kEphemeral = 1, kFullBlocking = 2, kBackground = 3;
constexpr std::uint32_t kMostHeapOffset = 1 << 16, kMostThreadOffset = 4096;

class Finder {
 public:
  Finder(const RuntimeMemory& memory, const std::optional<Collector>& collector)
      : cached_(memory.reader()), memory_(memory.with(cached_)), collector_(collector) {}

  CounterPlaces find(std::span<const images::Segment> segments, Address bias) {
    calls_ = find_internal_calls(segments, bias, cached_, kNames);
    out_.exceptions = counter(kExceptions, 4);
    out_.methods = counter(kMethods, 8);
    out_.il_bytes = counter(kIlBytes, 8);
    out_.compile_ticks = counter(kCompileTicks, 8);
    find_collections();
    find_pauses();
    find_settings();
    find_last_infos();
    find_contentions();
    find_allocations();
    return out_;
  }

 private:
  [[nodiscard]] std::optional<CodeTrace> follow(Address function, std::uint64_t first = 0,
                                                std::uint64_t second = 0) const {
    return counters::follow(memory_.layouts().arch, cached_, function, {first, second, 0});
  }
  /// A place of the target's own, not of the trace's.
  [[nodiscard]] static bool is_place(const Value& v, unsigned size) {
    return v.is_known && v.from != 0 && v.from_size == size && v.from < kOwnStack;
  }

  /// A function whose result is one variable. An argument that it may have is "of all threads", and false.
  [[nodiscard]] Address counter(Call call, unsigned size) const {
    const auto trace = follow(calls_[call]);
    return trace && is_place(trace->result, size) && trace->result.factor == 1 ? trace->result.from : 0;
  }

  void find_collections() {
    const auto first = follow(calls_[kCollections], 0, 0), second = follow(calls_[kCollections], 1, 0);
    out_.is_early = calls_[kCollections] != 0 && !first;
    if (!first || !second || !first->object.is_known) return;
    object_ = first->object.bits;
    const bool is_whole = is_place(first->result, 4) || is_place(first->result, 8);
    if (!is_whole || !second->result.is_known || !collector_) return;
    if (second->result.from - first->result.from != GenerationData::kSize) return;
    const Address table = first->result.from - GenerationData::kCollections;
    if (!are_generations(table)) return;
    if (!collector_->is_server) {
      out_.generations = table;
      return;
    }
    const Address pointers = memory_.pointer_at(collector_->heap_pointers).value_or(0);
    const Address heap = pointers == 0 ? 0 : memory_.pointer_at(pointers).value_or(0);
    if (heap != 0 && table > heap && table - heap < kMostHeapOffset)
      out_.generations_of_heap = {static_cast<std::uint32_t>(table - heap)};
  }

  /// Each generation leads to constants of its own, which lie one behind the other.
  [[nodiscard]] bool are_generations(Address table) const {
    std::array<Address, GenerationData::kGenerations> constants{};
    for (std::size_t i = 0; i < constants.size(); i++)
      constants[i] = memory_.pointer_at(table + i * GenerationData::kSize + GenerationData::kStatic).value_or(0);
    const Address distance = constants[1] - constants[0];
    if (constants[0] == 0 || distance == 0 || distance > 256 || distance % 8 != 0) return false;
    for (std::size_t i = 1; i < constants.size(); i++)
      if (constants[i] - constants[i - 1] != distance) return false;
    return true;
  }

  void find_pauses() {
    const auto trace = follow(calls_[kPauses]);
    if (!trace || !is_place(trace->result, 8)) return;
    const std::uint64_t factor = trace->result.factor;
    if (factor != 1 && factor != 10) return;
    out_.pauses = trace->result.from;
    out_.pause_factor = factor;
  }

  [[nodiscard]] Address read_by(std::uint32_t virtual_function, unsigned size) const {
    const Address table = object_ == 0 ? 0 : memory_.pointer_at(object_).value_or(0);
    const Address function = table == 0 ? 0 : memory_.pointer_at(table + virtual_function).value_or(0);
    const auto trace = follow(function, object_);
    return trace && is_place(trace->result, size) ? trace->result.from : 0;
  }

  void find_settings() {
    const Address number = read_by(kGcCount, 8), generation = read_by(kCondemnedGeneration, 4),
                  mode = read_by(kLatencyMode, 4);
    if (number == 0 || generation != number + Settings::kGeneration || mode != number + Settings::kMode) return;
    out_.settings = number;
  }

  [[nodiscard]] Address last_info(std::uint64_t kind) const {
    const auto trace = follow(calls_[kMemoryInfo], kObject, kind);
    if (!trace) return 0;
    const Value &index = trace->of_object[kIndexWord], &committed = trace->of_object[kCommittedWord],
                &size = trace->of_object[kHeapSizeWord];
    if (!is_place(index, 8) || !is_place(committed, 8) || !is_place(size, 8)) return 0;
    const bool is_one =
        committed.from == index.from + LastInfo::kCommitted && size.from == index.from + LastInfo::kHeapSize;
    return is_one ? index.from : 0;
  }

  void find_last_infos() {
    const Address ephemeral = last_info(kEphemeral), full = last_info(kFullBlocking);
    if (ephemeral == 0 || full != ephemeral + LastInfo::kSize) return;
    out_.last_infos = {ephemeral, full, 0, 0};
    // The function tells the one of the two for background collections that was written last; the other one is known
    // where both lie right behind these.
    const Address background = last_info(kBackground), first = full + LastInfo::kSize, end = full + 3 * LastInfo::kSize;
    std::size_t next = 2;
    if (background != 0) out_.last_infos[next++] = background;
    for (const Address at : {background - LastInfo::kSize, background + LastInfo::kSize})
      if (background != 0 && at >= first && at < end && next < out_.last_infos.size()) out_.last_infos[next++] = at;
  }

  /// The function passes the place in a Thread and the address of the rest to one that sums up.
  void find_contentions() {
    out_.monitors_are_locks = calls_[kContentions] == 0 && calls_[kExceptions] != 0 && calls_[kCollections] != 0;
    const auto trace = follow(calls_[kContentions]);
    if (!trace) return;
    for (const CodeTrace::Call& call : trace->calls) {
      const bool is_sum = call.first.is_known && call.first.from == 0 && call.first.bits % 4 == 0 &&
                          call.first.bits != 0 && call.first.bits < kMostThreadOffset && call.second.is_known &&
                          call.second.bits % 8 == 0 && call.second.bits > kMostThreadOffset &&
                          call.second.bits < kOwnStack;
      if (!is_sum) continue;
      out_.contentions_of_thread = {static_cast<std::uint32_t>(call.first.bits)};
      out_.ended_contentions = call.second.bits;
    }
  }

  /// The function adds up four words of the thread: two counts, less what is left of the part in use.
  void find_allocations() {
    const Layouts& l = memory_.layouts();
    const auto& c = l.gc_alloc_context;
    if (!l.runtime_thread_locals.alloc_context || !l.ee_alloc_context.gc_allocation_context) return;
    if (!c.pointer || !c.limit) return;
    const std::uint32_t context =
        l.runtime_thread_locals.alloc_context.offset + l.ee_alloc_context.gc_allocation_context.offset;
    out_.alloc_pointer = {context + c.pointer.offset};
    out_.alloc_limit = {context + c.limit.offset};
    if (c.alloc_bytes && c.alloc_bytes_loh) {
      out_.alloc_small = {context + c.alloc_bytes.offset};
      out_.alloc_large = {context + c.alloc_bytes_loh.offset};
      return;
    }
    const auto trace = follow(calls_[kAllocatedBytes]);
    if (!trace || trace->read_of_thread.size() < 4 || c.limit.offset != c.pointer.offset + 8) return;
    const auto& read = trace->read_of_thread;
    for (const Address at : read) {
      const auto word = [at](unsigned n) { return word_of_thread(at + 8u * n); };
      if (trace->result.bits != word(2) + word(3) - (word(1) - word(0))) continue;
      out_.alloc_small = {out_.alloc_pointer.offset + 16};
      out_.alloc_large = {out_.alloc_pointer.offset + 24};
    }
  }

  memory::CachedMemory cached_;
  RuntimeMemory memory_;
  const std::optional<Collector>& collector_;
  std::vector<Address> calls_;
  Address object_ = 0;  ///< the collector's
  CounterPlaces out_;
};

}  // namespace

CounterPlaces find_counter_places(const RuntimeMemory& memory, std::span<const images::Segment> segments, Address bias,
                                  const std::optional<Collector>& collector) {
  if (memory.pointer_size() != 8 || memory.layouts().is_windows) return {};
  return Finder(memory, collector).find(segments, bias);
}

}  // namespace mixstack::dotnet::counters
