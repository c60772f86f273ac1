// The references of a heap and its roots, as a graph.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "dotnet/code/threads.h"
#include "dotnet/heap/gc_handles.h"
#include "dotnet/holders/dominators.h"
#include "dotnet/holders/heap_image.h"
#include "dotnet/holders/object_numbers.h"
#include "dotnet/holders/static_slots.h"
#include "mixstack/holders.h"
#include "mixstack/registers.h"

namespace mixstack::dotnet::holders {

/// A managed thread as it stood: its registers, and the words that its stack and registers held.
struct StoppedThread {
  std::uint64_t tid = 0;
  std::string name;
  std::vector<std::uint64_t> words;
  ManagedThread managed;
  Registers registers;
  std::uint64_t pac_mask = 0;  ///< as in Capture
};

/// A reference that the runtime's own tables call live on a thread's stack.
struct LocalReference {
  std::uint64_t tid = 0;
  Address object = 0;  ///< an object, or an address in one
  StackPlace place;
};

/// Roots of a heap, as they were read at one moment.
struct HeapRoots {
  objects::GcHandles handles;
  objects::ReadyObjects ready;
  std::vector<ThreadStatics> threads;
  std::vector<StoppedThread> stacks;
  std::vector<LocalReference> locals;  ///< by threads, each inner frames first
};

/// A node that is no object.
struct RootNode {
  RootKind kind = RootKind::none;
  std::string name;
  std::uint64_t roots = 0;  ///< that it stands for
  Address at = 0;           ///< of a static: the word that it is
};

/// An edge of a thread's root, and where on its stack it lies.
struct LocalEdge {
  Node root = kNoNode, object = kNoNode;
  StackPlace place;
};

/// Roots are of three classes, of which each takes nothing from those before it.
enum class RootClass : std::uint8_t { certain, locals, words, count };
inline constexpr std::size_t kRootClasses = static_cast<std::size_t>(RootClass::count);

/// Receives the edges of a graph: those of one node after the other.
class EdgeSink {
 public:
  EdgeSink() = default;
  EdgeSink(const EdgeSink&) = delete;
  EdgeSink& operator=(const EdgeSink&) = delete;
  virtual ~EdgeSink() = default;
  virtual void edge(Node to) = 0;
  virtual void close_node() = 0;
};

/// Nodes: first the objects by number, then the roots, then those that hold the roots of each class.
struct GraphNodes {
  Node objects = 0;
  std::vector<RootNode> roots;
  std::vector<LocalEdge> locals;  ///< by root and object
  std::array<Node, kRootClasses> classes{};
  std::uint64_t references = 0, reference_sum = 0, dangling = 0;
  bool is_torn = false;  ///< some object's bytes could not be read, or a type does not tell its references
};

struct HeapGraph : GraphNodes {
  Graph graph;
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

/// Tells all edges. May be asked again: the same are told.
[[nodiscard]] GraphNodes tell_edges(const GraphParts& parts, EdgeSink& sink);
/// Nothing: more edges than can be numbered.
[[nodiscard]] std::optional<HeapGraph> make_graph(const GraphParts& parts);

}  // namespace mixstack::dotnet::holders
