// Dominators of a heap's graph, with what each node retains.
#pragma once

#include <span>
#include <vector>

#include "dotnet/holders/heap_graph.h"

namespace mixstack::dotnet::holders {

/// All by places of the dominator tree. Immutable once made.
class HeldHeap {
 public:
  /// Borrows numbers, shapes and sizes; gives up the graph.
  HeldHeap(HeapGraph&& graph, const ObjectNumbers& numbers, const ObjectShapes& shapes, const ObjectSizes& sizes);

  [[nodiscard]] std::uint32_t places() const { return static_cast<std::uint32_t>(tree_.order.size()); }
  /// From here on: held by roots of this class, and by none of those before it. This place itself holds the roots.
  [[nodiscard]] std::uint32_t begin_of(RootClass of) const { return tree_.roots[static_cast<std::size_t>(of)]; }
  [[nodiscard]] RootClass class_of(std::uint32_t place) const {
    return place >= begin_of(RootClass::words)    ? RootClass::words
           : place >= begin_of(RootClass::locals) ? RootClass::locals
                                                  : RootClass::certain;
  }
  /// Whether no object or root is above it.
  [[nodiscard]] bool is_top(std::uint32_t place) const {
    const std::uint32_t a = above(place);
    return a == begin_of(RootClass::certain) || a == begin_of(RootClass::locals) || a == begin_of(RootClass::words);
  }
  [[nodiscard]] std::uint32_t above(std::uint32_t place) const { return tree_.above[place]; }
  [[nodiscard]] Node node(std::uint32_t place) const { return tree_.order[place]; }
  [[nodiscard]] bool is_object(std::uint32_t place) const { return node(place) < objects_; }
  // By nodes, whether they are reached or not.
  [[nodiscard]] std::uint64_t size_of(Node object) const { return shapes_[numbers_.shape(object)].size; }
  [[nodiscard]] std::uint32_t type_of(Node object) const { return shapes_[numbers_.shape(object)].type; }
  [[nodiscard]] const RootNode* root_of(Node node) const {
    return node >= objects_ && node - objects_ < roots_.size() ? &roots_[node - objects_] : nullptr;
  }
  /// The root at a place; null: it is an object, or one of the two that hold the roots.
  [[nodiscard]] const RootNode* root(std::uint32_t place) const { return root_of(node(place)); }
  [[nodiscard]] std::uint64_t retained(std::uint32_t place) const { return retained_[place]; }
  /// The object's; 0: a root.
  [[nodiscard]] std::uint64_t size(std::uint32_t place) const { return is_object(place) ? size_of(node(place)) : 0; }
  /// An object's, as in ObjectSizes.
  [[nodiscard]] std::uint32_t type(std::uint32_t place) const { return type_of(node(place)); }
  [[nodiscard]] Address address(std::uint32_t place) const { return numbers_.address(node(place)); }
  /// Places right below.
  [[nodiscard]] std::span<const std::uint32_t> held(std::uint32_t place) const {
    return std::span(held_).subspan(first_[place], first_[place + 1] - first_[place]);
  }
  [[nodiscard]] const ObjectNumbers& numbers() const { return numbers_; }
  [[nodiscard]] const ObjectSizes& sizes() const { return sizes_; }
  [[nodiscard]] std::span<const RootNode> roots() const { return roots_; }
  [[nodiscard]] Node objects() const { return objects_; }
  [[nodiscard]] Node nodes() const { return static_cast<Node>(objects_ + roots_.size() + kRootClasses); }
  /// Where on the stack of the thread that `root` is lies a reference at the object; null: nowhere.
  [[nodiscard]] const StackPlace* place_of(Node root, Node object) const;

 private:
  const ObjectNumbers& numbers_;
  const ObjectShapes& shapes_;
  const ObjectSizes& sizes_;
  Node objects_;
  std::vector<RootNode> roots_;
  std::vector<LocalEdge> locals_;
  DominatorTree tree_;
  std::vector<std::uint64_t> retained_;
  std::vector<std::uint32_t> first_, held_;
};

}  // namespace mixstack::dotnet::holders
