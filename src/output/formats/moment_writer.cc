#include "mixstack/memory_files.h"
#include "output/formats/moment_blocks.h"

namespace mixstack::formats {
namespace {

using ByGeneration = std::array<std::uint64_t, kHeapGenerations>;

/// Which generations have something, as bits; then their numbers.
void put_generations(BlockFields& to, const ByGeneration& values) {
  std::uint64_t mask = 0;
  for (std::size_t g = 0; g < kHeapGenerations; g++) mask |= std::uint64_t{values.at(g) != 0} << g;
  to.number(mask);
  for (const std::uint64_t value : values)
    if (value != 0) to.number(value);
}

class MomentWriter {
 public:
  MomentWriter(report::Writer& out, const MemoryMoment& moment) : blocks_(out), moment_(moment) {}

  void write() {
    blocks_.begin(kMomentMagic, kMomentVersion);
    mark();
    if (moment_.account) account(*moment_.account);
    heaps();
    put(MomentBlock::end, {});
  }

 private:
  void put(MomentBlock type, std::string_view plain) { blocks_.put(static_cast<std::uint16_t>(type), plain); }
  template <class Range, class Write>
  void list(MomentBlock type, const Range& range, Write write) {
    blocks_.list(static_cast<std::uint16_t>(type), range, write);
  }

  void mark() {
    const MomentMark& m = moment_.mark;
    BlockFields block;
    block.number(moment_.pid).text(moment_.name).text(moment_.core_path);
    block.number(m.taken_unix_ns).number(m.is_time_of_file ? 1 : 0).number(m.started).text(m.host).text(m.version);
    put(MomentBlock::mark, block.bytes());
    list(MomentBlock::runtimes, m.runtimes, [](BlockFields& to, const MomentRuntime& r) {
      to.text(r.version).number(r.collections.size());
      for (const std::uint64_t count : r.collections) to.number(count);
    });
  }

  void account(const MemoryAccount& a) {
    BlockFields block;
    block.number(a.resident).number(a.resident_by_kernel).number(a.swapped);
    block.optional(a.limit).optional(a.used_of_limit).text(a.allocator);
    put(MomentBlock::account, block.bytes());
    list(MomentBlock::lines, a.lines, [](BlockFields& to, const MemoryLine& l) {
      to.text(to_string(l.kind)).text(l.detail).number(l.resident).number(l.size);
    });
    list(MomentBlock::arenas, a.arenas, [](BlockFields& to, const MallocArena& m) {
      to.number(m.address).number(m.is_main ? 1 : 0).number(m.is_whole ? 1 : 0).number(m.heaps);
      to.number(m.used).number(m.free).number(m.used_chunks).number(m.free_chunks);
    });
    list(MomentBlock::unknown, a.unknown, [](BlockFields& to, const UnknownPiece& p) {
      to.number(p.mapping.begin).number(p.mapping.size()).text(p.rights).text(p.path).number(p.resident);
    });
    list(MomentBlock::managed, a.managed, [](BlockFields& to, const ManagedMemory& m) {
      to.text(m.version).number(m.is_known ? 1 : 0).number(m.is_server ? 1 : 0).number(m.heaps);
      put_generations(to, m.objects);
      ByGeneration regions{};
      for (std::size_t g = 0; g < kHeapGenerations; g++) regions.at(g) = m.regions.at(g);
      put_generations(to, regions);
    });
    list(MomentBlock::notes, a.diagnoses,
         [](BlockFields& to, const Diagnosis& d) { to.word(d.error.code).text(d.subject).text(d.text); });
  }

  void heaps() {
    list(MomentBlock::heaps, moment_.heaps, [](BlockFields& to, const HeapTypes& h) {
      to.number(h.is_server ? 1 : 0).number(h.heaps).number(h.is_exact ? 1 : 0).text(h.why_not);
      to.number(static_cast<std::uint64_t>(h.pause.count())).number(h.stops).number(h.copied_in_stop);
    });
    std::uint64_t before = 0;
    for (std::size_t heap = 0; heap < moment_.heaps.size(); heap++) {
      const HeapTypes& h = moment_.heaps[heap];
      // Each type has its heap with it, so that any block stands for itself.
      list(MomentBlock::types, h.types, [&](BlockFields& to, const TypeCount& t) {
        to.number(heap).number(zigzag(t.method_table, before)).number(t.is_free ? 1 : 0).text(t.type);
        before = t.method_table;
        put_generations(to, t.count);
        put_generations(to, t.bytes);
      });
      if (h.elements) elements(heap, *h.elements);
    }
  }

  void elements(std::size_t heap, const HeapElements& e) {
    list(MomentBlock::elements, std::array<const HeapElements*, 1>{&e},
         [heap](BlockFields& to, const HeapElements* of) {
           to.number(heap).number(of->one_in).number(of->zeros_of_them);
           for (const ObjectAmount* a :
                {&of->strings, &of->empty_strings, &of->duplicates, &of->arrays, &of->empty_arrays,
                 &of->half_empty_arrays, &of->lists, &of->empty_lists, &of->not_read})
             to.number(a->count).number(a->bytes);
         });
    list(MomentBlock::duplicates, e.most, [heap](BlockFields& to, const DuplicateString& d) {
      to.number(heap).number(d.count).number(d.length).number(d.bytes).text(d.text);
    });
  }

  BlockWriter blocks_;
  const MemoryMoment& moment_;
};

}  // namespace
}  // namespace mixstack::formats

namespace mixstack {

void write_moment(const MemoryMoment& moment, const ReportSink& sink) {
  report::Writer out(sink);
  formats::MomentWriter(out, moment).write();
  out.flush();
}

}  // namespace mixstack
