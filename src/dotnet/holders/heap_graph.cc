// Makes the graph of a heap.
//
// Input: numbered objects, their bytes at one moment, roots. Output: edges in the order of objects.
// Algorithm: each object that may refer to others is read once, in the order of addresses, and its GCDesc says where
// its references are. The value of a static's slot becomes an edge of that static, not of the array that it is in, else
// one array would hold everything. The second object of a dependent handle is an edge of the first one: it counts once
// the first one is reached. Then each root is a node. Each thread has one for what its live variables refer to, and one
// for the words of its stack, which lead to the objects they point into. Bounds: 2^32 nodes and edges; bytes of one
// object of a core, which are read as far as the core has them, kLargest.
#include "dotnet/holders/heap_graph.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>

namespace mixstack::dotnet::holders {
namespace {

constexpr std::size_t kWindow = 1 << 20;
constexpr std::uint64_t kLargest = std::uint64_t{1} << 30;  // object that was not copied: of a core
constexpr std::uint64_t kFromFactor = 0xc2b2ae3d27d4eb4fu, kToFactor = 0x9e3779b97f4a7c15u;

/// Bytes of objects in the order of addresses.
class Bodies {
 public:
  explicit Bodies(const HeapImage& image) : image_(image) {}

  /// Empty: they cannot be read.
  std::span<const std::byte> of(Address object, std::uint64_t size) {
    if (const auto copied = image_.bytes_at(object, size); copied.size() == size) return copied;
    if (object < begin_ || object - begin_ > filled_ || filled_ - (object - begin_) < size) {
      begin_ = object;
      filled_ = 0;
      if (size > kLargest) return {};
      while (filled_ < size) {
        if (filled_ == buffer_.size()) buffer_.resize(std::max(kWindow, 2 * buffer_.size()));
        const auto n = image_.read_some(object + filled_, std::span(buffer_).subspan(filled_));
        if (!n || *n == 0) return {};
        filled_ += *n;
      }
    }
    return std::span<const std::byte>(buffer_).subspan(static_cast<std::size_t>(object - begin_),
                                                       static_cast<std::size_t>(size));
  }

 private:
  const HeapImage& image_;
  std::vector<std::byte> buffer_;
  Address begin_ = 0;
  std::size_t filled_ = 0;
};

class Edges final : public EdgeSink {
 public:
  void edge(Node to) override {
    if (!graph_.is_full()) graph_.add(to);
  }
  void close_node() override {
    if (!graph_.is_full()) graph_.close_node();
  }

  std::optional<Graph> take() { return graph_.is_full() ? std::nullopt : std::optional(std::move(graph_)); }

 private:
  Graph graph_;
};

/// `Sink`: an EdgeSink, by its own type where there are very many edges.
template <class Sink>
class Maker {
 public:
  Maker(const GraphParts& of, Sink& sink)
      : of_(of), sink_(sink), bodies_(of.image), values_(of.slots.size(), kNoNode) {}

  GraphNodes make() {
    out_.objects = of_.numbers.size();
    add_dependents();
    of_.numbers.each([&](Node object, Address address) { add_object(object, address); });
    add_statics();
    add_handles();
    add_threads();
    add(RootKind::finalizer, {}, of_.roots.ready.objects);
    std::array<std::size_t, kRootClasses> ends{out_.roots.size()};
    add_locals();
    ends[1] = out_.roots.size();
    for (const StoppedThread& t : of_.roots.stacks) add_stack(t);
    ends[2] = out_.roots.size();
    const Node base = out_.objects;
    for (std::size_t c = 0, i = 0; c < kRootClasses; c++) {
      out_.classes[c] = base + static_cast<Node>(ends[2] + c);
      for (; i < ends[c]; i++) sink_.edge(base + static_cast<Node>(i));
      sink_.close_node();
    }
    return std::move(out_);
  }

 private:
  void add_dependents() {
    for (const objects::GcHandle& h : of_.roots.handles.handles) {
      if (h.kind != objects::HandleKind::dependent || h.second == 0) continue;
      const Node first = of_.numbers.find(h.object), second = of_.numbers.find(h.second);
      if (first != kNoNode && second != kNoNode) dependents_.emplace_back(first, second);
    }
    std::sort(dependents_.begin(), dependents_.end());
  }

  /// The first slot of a static in the object; nothing in most.
  bool has_slots(Address object, std::uint64_t size) {
    while (slot_ < of_.slots.size() && of_.slots[slot_].at < object) slot_++;
    return slot_ < of_.slots.size() && of_.slots[slot_].at < object + size;
  }

  bool is_slot(Address at, Node value) {
    const auto it = std::lower_bound(of_.slots.begin() + static_cast<std::ptrdiff_t>(slot_), of_.slots.end(), at,
                                     [](const StaticSlot& s, Address a) { return s.at < a; });
    if (it == of_.slots.end() || it->at != at) return false;
    values_[static_cast<std::size_t>(it - of_.slots.begin())] = value;
    return true;
  }

  void add_object(Node object, Address address) {
    const ObjectShapes::Shape& shape = of_.shapes[of_.numbers.shape(object)];
    const GcDesc* desc = of_.references.of(shape.type);
    if (desc == nullptr) out_.is_torn = true;
    if (desc != nullptr && !desc->empty()) {
      const auto bytes = bodies_.of(address, shape.size);
      if (bytes.empty()) out_.is_torn = true;
      const bool slots = has_slots(address, shape.size);
      Node last = kNoNode;
      desc->visit(bytes, bytes.size(), [&](std::uint64_t offset, Address reference) {
        out_.references++;
        out_.reference_sum += (reference * kToFactor) ^ (address * kFromFactor);
        const Node to = of_.numbers.find(reference);
        if (to == kNoNode) {
          out_.dangling++;
          return;
        }
        if (slots && is_slot(address + offset, to)) return;
        if (to != last) sink_.edge(to);
        last = to;
      });
    }
    for (; dependent_ < dependents_.size() && dependents_[dependent_].first == object; dependent_++)
      sink_.edge(dependents_[dependent_].second);
    sink_.close_node();
  }

  void close_root(RootKind kind, std::string name, std::uint64_t roots, Address at = 0) {
    sink_.close_node();
    out_.roots.push_back({kind, std::move(name), roots, at});
  }

  void add(RootKind kind, std::string name, std::span<const Address> objects) {
    std::uint64_t count = 0;
    for (const Address object : objects) {
      const Node to = of_.numbers.find(object);
      if (to == kNoNode) continue;
      sink_.edge(to);
      count++;
    }
    if (count != 0) close_root(kind, std::move(name), count);
  }

  void add_statics() {
    for (std::size_t i = 0; i < values_.size(); i++) {
      if (values_[i] == kNoNode) continue;
      const StaticSlot& slot = of_.slots[i];
      sink_.edge(values_[i]);
      std::string name = of_.name_of(slot);
      if (slot.thread != 0) name += " of thread " + std::to_string(slot.thread);
      close_root(slot.thread != 0 ? RootKind::thread_static : RootKind::static_field, std::move(name), 1, slot.at);
    }
  }

  void add_handles() {
    using objects::HandleKind;
    constexpr std::array<std::pair<HandleKind, RootKind>, 5> kKinds{
        {{HandleKind::strong, RootKind::strong_handle},
         {HandleKind::pinned, RootKind::pinned_handle},
         {HandleKind::async_pinned, RootKind::async_pinned_handle},
         {HandleKind::sized, RootKind::sized_handle},
         {HandleKind::counted, RootKind::counted_handle}}};
    for (const auto& [kind, root] : kKinds) {
      std::vector<Address> some;
      for (const objects::GcHandle& h : of_.roots.handles.handles)
        if (h.kind == kind) some.push_back(h.object);
      add(root, {}, some);
    }
  }

  void add_threads() {
    for (const ThreadStatics& t : of_.roots.threads) {
      const std::array<Address, 1> one{t.array};
      if (t.array != 0) add(RootKind::thread_slots, "thread " + std::to_string(t.os_id), one);
    }
  }

  /// The object at an address, or around it; kNoNode: none.
  [[nodiscard]] Node object_around(Address address) const {
    const Node object = of_.numbers.find_before(address);
    if (object == kNoNode) return kNoNode;
    const ObjectShapes::Shape& shape = of_.shapes[of_.numbers.shape(object)];
    const bool is_inside = !of_.sizes[shape.type].is_free && address - of_.numbers.address(object) < shape.size;
    return is_inside ? object : kNoNode;
  }

  [[nodiscard]] std::string thread_name(std::uint64_t tid) const {
    const auto& threads = of_.roots.stacks;
    const auto it = std::find_if(threads.begin(), threads.end(), [&](const auto& t) { return t.tid == tid; });
    std::string name = "thread " + std::to_string(tid);
    return it == threads.end() || it->name.empty() ? name : name + " (" + it->name + ")";
  }

  /// Each thread is a root. Where several of its frames refer to one object, the outermost one whose variable is known
  /// is named: it is the one that has it longest.
  void add_locals() {
    const auto& all = of_.roots.locals;
    for (std::size_t i = 0; i < all.size();) {
      const std::uint64_t tid = all[i].tid;
      std::map<Node, const StackPlace*> places;
      for (; i < all.size() && all[i].tid == tid; i++) {
        const Node object = object_around(all[i].object);
        if (object == kNoNode) continue;
        const StackPlace*& told = places[object];
        if (told == nullptr || told->variable.empty() || !all[i].place.variable.empty()) told = &all[i].place;
      }
      if (places.empty()) continue;
      const Node root = out_.objects + static_cast<Node>(out_.roots.size());
      for (const auto& [object, place] : places) {
        sink_.edge(object);
        out_.locals.push_back({root, object, *place});
      }
      close_root(RootKind::local, thread_name(tid), places.size());
    }
  }

  void add_stack(const StoppedThread& thread) {
    std::vector<Node> into;
    for (const std::uint64_t word : thread.words) {
      const Node object = object_around(word);
      if (object == kNoNode) continue;
      into.push_back(object);
    }
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
    if (into.empty()) return;
    for (const Node object : into) sink_.edge(object);
    close_root(RootKind::stack, thread_name(thread.tid), into.size());
  }

  const GraphParts& of_;
  Sink& sink_;
  Bodies bodies_;
  GraphNodes out_;
  std::vector<Node> values_;  ///< of slots
  std::size_t slot_ = 0;
  std::vector<std::pair<Node, Node>> dependents_;
  std::size_t dependent_ = 0;
};

}  // namespace

GraphNodes tell_edges(const GraphParts& parts, EdgeSink& sink) { return Maker<EdgeSink>(parts, sink).make(); }

std::optional<HeapGraph> make_graph(const GraphParts& parts) {
  Edges edges;
  GraphNodes nodes = Maker<Edges>(parts, edges).make();
  auto graph = edges.take();
  if (!graph) return std::nullopt;
  return HeapGraph{std::move(nodes), std::move(*graph)};
}

}  // namespace mixstack::dotnet::holders
