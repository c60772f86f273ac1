// Dominators of a heap's graph, with what each node retains.
#pragma once

#include <span>
#include <vector>

#include "dotnet/holders/heap_graph.h"

namespace mixstack::dotnet::holders {

/// Places right below one: each is as far from the one before as that has places below it.
class PlacesBelow {
 public:
  class Place {
   public:
    Place(std::span<const std::uint32_t> below, std::uint32_t at) : below_(below), at_(at) {}
    std::uint32_t operator*() const { return at_; }
    Place& operator++() {
      at_ += below_[at_];
      return *this;
    }
    bool operator!=(const Place& other) const { return at_ != other.at_; }

   private:
    std::span<const std::uint32_t> below_;
    std::uint32_t at_;
  };
  PlacesBelow(std::span<const std::uint32_t> below, std::uint32_t place) : below_(below), place_(place) {}
  [[nodiscard]] Place begin() const { return {below_, place_ + 1}; }
  [[nodiscard]] Place end() const { return {below_, place_ + below_[place_]}; }

 private:
  std::span<const std::uint32_t> below_;
  std::uint32_t place_;
};

/// All by places of the dominator tree: each before all that are below it, and these before any other. Immutable once
/// made.
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
  [[nodiscard]] std::uint64_t retained(std::uint32_t place) const {
    return wide_.empty() ? std::uint64_t{retained_[place]} * kUnit : wide_[place];
  }
  /// The object's; 0: a root.
  [[nodiscard]] std::uint64_t size(std::uint32_t place) const { return is_object(place) ? size_of(node(place)) : 0; }
  /// An object's, as in ObjectSizes.
  [[nodiscard]] std::uint32_t type(std::uint32_t place) const { return type_of(node(place)); }
  [[nodiscard]] Address address(std::uint32_t place) const { return numbers_.address(node(place)); }
  /// Places right below.
  [[nodiscard]] PlacesBelow held(std::uint32_t place) const { return {below_, place}; }
  [[nodiscard]] const ObjectNumbers& numbers() const { return numbers_; }
  [[nodiscard]] const ObjectSizes& sizes() const { return sizes_; }
  [[nodiscard]] std::span<const RootNode> roots() const { return roots_; }
  [[nodiscard]] Node objects() const { return objects_; }
  [[nodiscard]] Node nodes() const { return static_cast<Node>(objects_ + roots_.size() + kRootClasses); }
  /// Where on the stack of the thread that `root` is lies a reference at the object; null: nowhere.
  [[nodiscard]] const StackPlace* place_of(Node root, Node object) const;

 private:
  static constexpr std::uint64_t kUnit = 8;  ///< each object's size is a multiple
  void sort();
  template <class T>
  void add_up(std::vector<T>& retained, std::uint64_t unit) const;

  const ObjectNumbers& numbers_;
  const ObjectShapes& shapes_;
  const ObjectSizes& sizes_;
  Node objects_;
  std::vector<RootNode> roots_;
  std::vector<LocalEdge> locals_;
  DominatorTree tree_;
  std::vector<std::uint32_t> below_;     ///< places below each, with itself
  std::vector<std::uint32_t> retained_;  ///< in units
  std::vector<std::uint64_t> wide_;      ///< in bytes, where the whole is too large for that
};

}  // namespace mixstack::dotnet::holders
