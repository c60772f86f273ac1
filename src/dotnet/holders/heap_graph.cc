// Makes the graph of a heap.
//
// Input: numbered objects, their bytes at one moment, roots. Output: edges in the order of objects.
// Algorithm: each object that may refer to others is read once, in the order of addresses, and its GCDesc says where
// its references are. The value of a static's slot becomes an edge of that static, not of the array that it is in, else
// one array would hold everything. The second object of a dependent handle is an edge of the first one: it counts once
// the first one is reached. Then each root is a node; words of stacks lead to the objects they point into. Bounds: 2^32
// edges; bytes of one object of a core, which are read as far as the core has them, kLargest.
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

class Maker {
 public:
  explicit Maker(const GraphParts& of) : of_(of), bodies_(of.image), values_(of.slots.size(), kNoNode) {}

  std::optional<HeapGraph> make() {
    out_.objects = of_.numbers.size();
    add_dependents();
    out_.graph.first.reserve(std::size_t{out_.objects} + of_.slots.size() + 64);
    of_.numbers.each([&](Node object, Address address) { add_object(object, address); });
    add_statics();
    add_handles();
    add_threads();
    add(RootKind::finalizer, {}, of_.roots.ready.objects);
    const std::size_t first_class = out_.roots.size();
    for (const ThreadWords& t : of_.roots.stacks) add_stack(t);
    const Node base = out_.objects;
    const auto all = out_.roots.size();
    out_.root = base + static_cast<Node>(all);
    out_.second = out_.root + 1;
    for (std::size_t i = 0; i < first_class; i++) edge(base + static_cast<Node>(i));
    out_.graph.close_node();
    for (std::size_t i = first_class; i < all; i++) edge(base + static_cast<Node>(i));
    out_.graph.close_node();
    if (is_full_) return std::nullopt;
    return std::move(out_);
  }

 private:
  void edge(Node to) {
    if (out_.graph.to.size() == kNoNode) {
      is_full_ = true;
      return;
    }
    out_.graph.to.push_back(to);
  }

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
        if (to != last) edge(to);
        last = to;
      });
    }
    for (; dependent_ < dependents_.size() && dependents_[dependent_].first == object; dependent_++)
      edge(dependents_[dependent_].second);
    out_.graph.close_node();
  }

  void close_root(RootKind kind, std::string name, std::uint64_t roots) {
    out_.graph.close_node();
    out_.roots.push_back({kind, std::move(name), roots});
  }

  void add(RootKind kind, std::string name, std::span<const Address> objects) {
    std::uint64_t count = 0;
    for (const Address object : objects) {
      const Node to = of_.numbers.find(object);
      if (to == kNoNode) continue;
      edge(to);
      count++;
    }
    if (count != 0) close_root(kind, std::move(name), count);
  }

  void add_statics() {
    for (std::size_t i = 0; i < values_.size(); i++) {
      if (values_[i] == kNoNode) continue;
      const StaticSlot& slot = of_.slots[i];
      edge(values_[i]);
      std::string name = of_.name_of(slot);
      if (slot.thread != 0) name += " of thread " + std::to_string(slot.thread);
      close_root(slot.thread != 0 ? RootKind::thread_static : RootKind::static_field, std::move(name), 1);
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

  void add_stack(const ThreadWords& thread) {
    std::vector<Node> into;
    for (const std::uint64_t word : thread.words) {
      const Node object = of_.numbers.find_before(word);
      if (object == kNoNode) continue;
      const ObjectShapes::Shape& shape = of_.shapes[of_.numbers.shape(object)];
      if (of_.sizes[shape.type].is_free || word - of_.numbers.address(object) >= shape.size) continue;
      into.push_back(object);
    }
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
    if (into.empty()) return;
    for (const Node object : into) edge(object);
    std::string name = "thread " + std::to_string(thread.tid);
    if (!thread.name.empty()) name += " (" + thread.name + ")";
    close_root(RootKind::stack, std::move(name), into.size());
  }

  const GraphParts& of_;
  Bodies bodies_;
  HeapGraph out_;
  std::vector<Node> values_;  ///< of slots
  std::size_t slot_ = 0;
  std::vector<std::pair<Node, Node>> dependents_;
  std::size_t dependent_ = 0;
  bool is_full_ = false;
};

}  // namespace

std::optional<HeapGraph> make_graph(const GraphParts& parts) { return Maker(parts).make(); }

}  // namespace mixstack::dotnet::holders
