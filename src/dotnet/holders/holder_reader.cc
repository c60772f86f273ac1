// Puts the parts together: numbers, references, roots, ways, dominators, lines.
//
// Input: regions with their objects, roots, an image of the bytes, all of one moment. Output: HeapHolders.
// Order: statics by name; the graph; shortest ways, where something was asked for (they need the graph); dominators
// (which take the graph); sums; the tree; paths.
// Bounds: of memory `most_memory`, asked before anything large is made; of output those of HolderTree and HolderPaths.
#include "dotnet/holders/holder_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "dotnet/code/threads.h"
#include "dotnet/holders/held_heap.h"
#include "dotnet/holders/holder_paths.h"
#include "dotnet/holders/holder_tree.h"
#include "dotnet/holders/local_roots.h"
#include "dotnet/holders/shared_roots.h"

namespace mixstack::dotnet::holders {
namespace {

constexpr std::uint64_t kBytesAnObject = 28, kBytesAWay = 12;

std::optional<Address> address_of(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  text.remove_prefix(2);
  Address value = 0;
  const auto end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, 16);
  return error == std::errc() && at == end ? std::optional(value) : std::nullopt;
}

/// "Order" is asked for by its whole name, or by its end.
bool is_called(std::string_view name, std::string_view asked) {
  if (name == asked) return true;
  return name.size() > asked.size() && name.ends_with(asked) && name[name.size() - asked.size() - 1] == '.';
}

}  // namespace

HolderReader::HolderReader(const RuntimeMemory& memory, Address dac_table, names::MethodNames& names, CodeManager& code)
    : memory_(memory),
      dac_table_(dac_table),
      names_(names),
      code_(code),
      cache_(memory_.reader()),
      image_(cache_, memory_.reader()),
      sizes_(memory_),
      references_(memory_, sizes_),
      walk_(sizes_, references_, shapes_) {
  if (auto found = find_collector(memory_, dac_table_)) collector_ = *found;
}

HeapRoots HolderReader::roots(const MemoryReader& now, std::string& why_not) const {
  HeapRoots out;
  const RuntimeMemory memory = memory_.with(now);
  if (!collector_) {
    why_not = "the collector's handles cannot be found";
    return out;
  }
  out.handles = objects::read_handles(memory, *collector_);
  if (!out.handles.is_whole) why_not = "some of the collector's handles cannot be read";
  out.ready = objects::read_ready_objects(memory, *collector_);
  if (!out.ready.is_whole) why_not = "the finalizer queue cannot be read";
  const Layouts& l = memory.layouts();
  for (const ManagedThread& t : read_threads(memory).threads) {
    if (t.os_id == 0 || t.is_dead()) continue;
    const Address data = memory.pointer(t.address, l.thread.thread_local_data).value_or(0);
    if (data == 0) continue;
    out.threads.push_back({t.os_id, memory.pointer(data, l.thread_local_data.non_collectible_array).value_or(0),
                           memory.value<std::uint32_t>(data, l.thread_local_data.non_collectible_count).value_or(0)});
  }
  return out;
}

std::vector<ManagedThread> HolderReader::threads(const RuntimeMemory& memory) {
  std::vector<ManagedThread> out;
  for (ManagedThread& t : read_threads(memory).threads)
    if (t.os_id != 0 && !t.is_dead() && !t.stack.empty()) out.push_back(t);
  return out;
}

/// The code manager reads the moment as long as it lives, and then what it has read before.
class HolderReader::CodeOfMoment {
 public:
  CodeOfMoment(CodeManager& code, const RuntimeMemory& moment) : code_(code), before_(code.memory()) {
    code_.rebind(moment);
  }
  ~CodeOfMoment() { code_.rebind(before_); }
  CodeOfMoment(const CodeOfMoment&) = delete;
  CodeOfMoment& operator=(const CodeOfMoment&) = delete;

 private:
  CodeManager& code_;
  RuntimeMemory before_;
};

std::uint64_t HolderReader::memory_for(std::uint64_t objects, std::uint64_t heap_bytes, bool ways) {
  return objects * (kBytesAnObject + (ways ? kBytesAWay : 0)) + heap_bytes / 64 + heap_bytes / 1024;
}

class HolderReader::Finding {
 public:
  Finding(HolderReader& of, HeapMoment&& moment, const HoldersOptions& options)
      : of_(of),
        options_(options),
        code_(of.code_, of.memory_.with(of.image_)),
        gc_(std::move(moment.gc)),
        roots_(std::move(moment.roots)),
        verify_(std::move(moment.verify)),
        numbers_(std::move(moment.regions)),
        types_(of.memory_.with(of.image_), of.names_),
        objects_(types_),
        memory_(of.memory_.with(of.image_)),
        requests_({memory_, of.image_, of.code_, of.names_, options.data, moment.is_unmoved}),
        words_(objects_, of.code_, of.names_, of.sizes_, of.references_, of.image_, requests_) {
    out_.is_server = gc_.is_server;
    out_.is_exact = true;
    out_.asked = options.of;
  }

  HeapHolders find() {
    out_.copied = of_.image_.used();
    const bool needs_ways = !options_.of.empty() || verify_;
    out_.graph_memory = HolderReader::memory_for(numbers_.size(), heap_bytes(), needs_ways);
    if (of_.shapes_.is_full()) return refused("its objects are of too many different sizes");
    const auto slots = StaticSlots(types_).find(roots_.threads);
    roots_.locals = LocalRoots(of_.code_, of_.names_, of_.memory_.with(of_.image_)).find(roots_.stacks);
    const GraphParts parts{numbers_,   of_.shapes_,
                           of_.sizes_, of_.references_,
                           of_.image_, roots_,
                           slots,      [&](const StaticSlot& slot) { return StaticSlots::name_of(types_, slot); }};
    auto graph = make_graph(parts);
    if (!graph) return refused("it has more references than can be numbered");
    note(*graph);
    std::optional<ShortestWays> ways;
    if (needs_ways) ways.emplace(*graph, [&](Node n) { return of_.shapes_[numbers_.shape(n)].type; });
    const HeldHeap heap(std::move(*graph), numbers_, of_.shapes_, of_.sizes_);
    sum(heap);
    std::optional<SharedRoots> shared;
    const auto roots_of = [&](std::span<const std::uint32_t> places) {
      if (!shared) {
        shared.emplace(heap);
        static_cast<void>(tell_edges(parts, *shared));
        shared->sort();
      }
      return shared->roots_of(places);
    };
    out_.tree = HolderTree(heap, words_, roots_of).make(out_.rest);
    if (!options_.of.empty()) find_paths(heap, *ways);
    out_.certainty = HoldersCertainty::one_moment;
    if (verify_) verify(heap, *ways);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::uint64_t heap_bytes() const {
    std::uint64_t bytes = 0;
    for (std::size_t g = 0; g < gc_.bytes.size(); g++)
      if (!RegionObjects::is_list(static_cast<HeapGeneration>(g))) bytes += gc_.bytes[g];
    return bytes;
  }
  HeapHolders refused(std::string why) {
    out_.is_exact = false;
    out_.why_not = std::move(why);
    return std::move(out_);
  }

  void note(const HeapGraph& graph) {
    out_.references = graph.references;
    out_.reference_sum = graph.reference_sum;
    out_.dangling = graph.dangling;
    if (graph.dangling != 0) {
      out_.is_exact = false;
      out_.why_not = fmt::format("{} of {} references lead to no object", graph.dangling, graph.references);
    } else if (graph.is_torn) {
      out_.is_exact = false;
      out_.why_not = "some objects' references cannot be read";
    }
  }

  void sum(const HeldHeap& heap) {
    numbers_.each([&](Node n, Address) {
      const ObjectShapes::Shape& shape = of_.shapes_[numbers_.shape(n)];
      if (of_.sizes_[shape.type].is_free) {
        out_.gap_bytes += shape.size;
        return;
      }
      out_.all_objects++;
      out_.all_bytes += shape.size;
    });
    std::map<RootKind, RootSum> sums;
    for (const RootNode& r : heap.roots()) {
      sums[r.kind].kind = r.kind;
      sums[r.kind].roots += r.roots;
    }
    for (std::uint32_t p = 1; p < heap.places(); p++) {
      if (const RootNode* root = heap.root(p); root != nullptr) {
        sums[root->kind].retained += heap.retained(p);
      } else if (heap.is_object(p)) {
        const RootClass by = heap.class_of(p);
        (by == RootClass::certain  ? out_.held_objects
         : by == RootClass::locals ? out_.local_objects
                                   : out_.stack_objects)++;
        (by == RootClass::certain  ? out_.held_bytes
         : by == RootClass::locals ? out_.local_bytes
                                   : out_.stack_bytes) += heap.size(p);
      }
    }
    for (const auto& [kind, one] : sums) out_.roots.push_back(one);
  }

  void verify(const HeldHeap& heap, const ShortestWays& ways) {
    out_.certainty = HoldersCertainty::read_twice;
    HolderChains chains({heap, ways, of_.references_, of_.image_, roots_});
    mark(out_, verify_(chains_of(out_, numbers_, chains)));
  }

  void find_paths(const HeldHeap& heap, const ShortestWays& ways) {
    std::vector<Node> wanted;
    if (const auto address = address_of(options_.of)) {
      const Node object = numbers_.find_before(*address);
      const bool is_in = object != kNoNode && *address - numbers_.address(object) < heap.size_of(object);
      if (is_in && !of_.sizes_[heap.type_of(object)].is_free) wanted.push_back(object);
    } else {
      std::vector<bool> is_wanted(of_.sizes_.size());
      for (std::uint32_t t = 0; t < of_.sizes_.size(); t++)
        is_wanted[t] = !of_.sizes_[t].is_free && is_called(words_.type(t).name, options_.of);
      for (Node n = 0; n < numbers_.size(); n++)
        if (is_wanted[heap.type_of(n)]) wanted.push_back(n);
    }
    out_.was_found = !wanted.empty();
    PathsFound found = HolderPaths(heap, ways, words_).find(wanted);
    out_.paths = std::move(found.paths);
    out_.more_paths = found.more;
    out_.unheld = found.unheld;
  }

  HolderReader& of_;
  const HoldersOptions& options_;
  CodeOfMoment code_;
  objects::GcRegions gc_;
  HeapRoots roots_;
  std::function<std::vector<bool>(std::span<const HolderChain>)> verify_;
  ObjectNumbers numbers_;
  objects::LoadedTypes types_;
  objects::ManagedObjects objects_;
  RuntimeMemory memory_;
  ServedRequests requests_;
  HolderWords words_;
  HeapHolders out_;
};

HeapHolders HolderReader::find(HeapMoment&& moment, const HoldersOptions& options) {
  cache_.clear();  // types that came after it was filled
  image_.sort();
  image_.close();
  return Finding(*this, std::move(moment), options).find();
}

}  // namespace mixstack::dotnet::holders
