// The references of a heap and its roots, as a graph.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "dotnet/heap/gc_handles.h"
#include "dotnet/holders/dominators.h"
#include "dotnet/holders/heap_image.h"
#include "dotnet/holders/object_numbers.h"
#include "dotnet/holders/static_slots.h"
#include "mixstack/holders.h"

namespace mixstack::dotnet::holders {

/// Words that a thread's stack and registers held.
struct ThreadWords {
  std::uint64_t tid = 0;
  std::string name;
  std::vector<std::uint64_t> words;
};

/// Roots of a heap, as they were read at one moment.
struct HeapRoots {
  objects::GcHandles handles;
  objects::ReadyObjects ready;
  std::vector<ThreadStatics> threads;
  std::vector<ThreadWords> stacks;
};

/// A node that is no object.
struct RootNode {
  RootKind kind = RootKind::none;
  std::string name;
  std::uint64_t roots = 0;  ///< that it stands for
};

/// Nodes: first the objects by number, then the roots, then the two that hold these: all but stacks, and stacks.
struct HeapGraph {
  Graph graph;
  Node objects = 0;
  std::vector<RootNode> roots;
  Node root = 0, second = 0;
  std::uint64_t references = 0, reference_sum = 0, dangling = 0;
  bool is_torn = false;  ///< some object's bytes could not be read, or a type does not tell its references
};

/// The input. Borrows all.
struct GraphParts {
  const ObjectNumbers& numbers;
  const ObjectShapes& shapes;
  const ObjectSizes& sizes;
  TypeReferences& references;
  const HeapImage& image;
  const HeapRoots& roots;
  std::span<const StaticSlot> slots;  ///< by address
  std::function<std::string(const StaticSlot&)> name_of;
};

/// Nothing: more edges than can be numbered.
[[nodiscard]] std::optional<HeapGraph> make_graph(const GraphParts& parts);

}  // namespace mixstack::dotnet::holders
