#include "dotnet/async/heap_reader.h"

#include "dotnet/async/thread_pool.h"

namespace mixstack::dotnet::objects {
namespace {

/// Objects are read through other memory as long as this lives.
class OtherMemory {
 public:
  OtherMemory(LoadedTypes& types, const MemoryReader& memory) : types_(types), before_(types.memory()) {
    types.use(before_.with(memory));
  }
  OtherMemory(const OtherMemory&) = delete;
  OtherMemory& operator=(const OtherMemory&) = delete;
  ~OtherMemory() { types_.use(before_); }

 private:
  LoadedTypes& types_;
  RuntimeMemory before_;
};

}  // namespace

Diagnosed<GcHeap> HeapReader::heap() const { return GcHeapReader(objects_.memory(), dac_table_).read(); }

Diagnosed<GcHeap> HeapReader::heap(const MemoryReader& memory) const {
  return GcHeapReader(objects_.memory().with(memory), dac_table_).read();
}

bool HeapReader::is_moving(const MemoryReader& memory) const {
  return GcHeapReader(objects_.memory().with(memory), dac_table_).is_moving();
}

void HeapReader::prepare() {
  scanner_.find_types();
  for (const Address type : scanner_.types())
    if (const auto& box = machines_.box_layout(type)) (void)machines_.method_of({0, box->machine_type});
}

Diagnosed<HeapFound> HeapReader::read(const MemoryReader& memory, std::optional<std::int64_t> now,
                                      std::span<const AsyncChain> told, std::uint64_t most) {
  PageStore store(memory);
  const OtherMemory in_the_stop(objects_.types(), store);
  GcHeapReader collector(objects_.memory(), dac_table_);
  const auto heap = collector.read();
  if (!heap) return tl::unexpected<Diagnosis>(heap.error());
  if (heap->state.bytes > most)
    return tl::unexpected<Diagnosis>({{ErrorCode::limit_exceeded, 0, heap->state.bytes}, "heap", "it grew meanwhile"});
  scanner_.find_types();
  HeapFound found{heap->state, scanner_.scan(heap->regions, memory, store), {}, false, {}};
  if (scanner_.saw_marks())
    return tl::unexpected<Diagnosis>({{ErrorCode::process_changed, 0, 0}, "heap", "a garbage collection is under way"});
  AsyncChains chains(objects_, delegates_, machines_, now);
  ThreadPoolReader pool(objects_, delegates_, machines_, now);
  (void)pool.read();
  HeapChains all(objects_, machines_, chains, scanner_.boxes());
  all.set_queued({pool.items().begin(), pool.items().end()});
  all.leave_out(told);
  found.chains = all.read();
  found.explained = all.explained();
  found.has_more = all.has_more() || found.scan.has_more;
  return found;
}

}  // namespace mixstack::dotnet::objects
