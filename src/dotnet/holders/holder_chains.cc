#include "dotnet/holders/holder_chains.h"

namespace mixstack::dotnet::holders {
namespace {

constexpr std::uint64_t kMostBody = 1 << 26;  // bytes of one object

/// Lines that are objects, before what they hold.
template <class Lines, class F>
void each_line(Lines& lines, const F& f) {
  for (auto& line : lines) {
    if (line.largest != 0) f(line);
    each_line(line.held, f);
  }
}
/// A root is seen where something that it holds is.
void mark_roots(std::vector<Holder>& lines) {
  for (Holder& line : lines) {
    mark_roots(line.held);
    if (line.largest != 0) continue;
    line.is_verified = false;
    for (const Holder& held : line.held) line.is_verified = line.is_verified || held.is_verified;
  }
}

}  // namespace

HolderChains::HolderChains(const Parts& of) : of_(of) {
  using objects::HandleKind;
  for (const objects::GcHandle& h : of.roots.handles.handles) {
    const bool holds = h.kind == HandleKind::strong || h.kind == HandleKind::pinned ||
                       h.kind == HandleKind::async_pinned || h.kind == HandleKind::sized ||
                       h.kind == HandleKind::counted;
    if (holds) handles_.emplace(h.object, h.at);
  }
}

Address HolderChains::word_in(Node holder, Node held) {
  const Address from = of_.heap.numbers().address(holder), to = of_.heap.numbers().address(held);
  const std::uint64_t size = of_.heap.size_of(holder);
  const GcDesc* desc = of_.references.of(of_.heap.type_of(holder));
  if (desc == nullptr || size > kMostBody) return 0;
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  if (!of_.image.read_exact(from, bytes)) return 0;
  Address at = 0;
  desc->visit(bytes, size, [&](std::uint64_t offset, Address reference) {
    if (reference == to && at == 0) at = from + offset;
  });
  return at;
}

Address HolderChains::word_of(const RootNode& root, Node root_node, Node held) {
  switch (root.kind) {
    case RootKind::static_field:
    case RootKind::thread_static:
      return root.at;
    case RootKind::local: {
      const StackPlace* place = of_.heap.place_of(root_node, held);
      return place == nullptr ? 0 : place->slot;
    }
    case RootKind::strong_handle:
    case RootKind::pinned_handle:
    case RootKind::async_pinned_handle:
    case RootKind::sized_handle:
    case RootKind::counted_handle: {
      const auto it = handles_.find(of_.heap.numbers().address(held));
      return it == handles_.end() ? 0 : it->second;
    }
    default:
      return 0;
  }
}

HolderChain HolderChains::to(Node object) {
  HolderChain chain;
  Node at = object;
  for (std::size_t steps = 0; of_.ways.is_object(at); steps++) {
    const Node before = of_.ways.before(at);
    if (before == kNoNode || before == at || steps == kMostSteps) break;
    auto known = known_.find(std::uint64_t{before} << 32 | at);
    if (known == known_.end()) {
      const RootNode* root = of_.heap.root_of(before);
      const Address word = root != nullptr              ? word_of(*root, before, at)
                           : of_.ways.is_object(before) ? word_in(before, at)
                                                        : 0;
      known = known_.emplace(std::uint64_t{before} << 32 | at, word).first;
    }
    if (known->second == 0) break;
    chain.words.push_back({known->second, of_.heap.numbers().address(at)});
    at = before;
  }
  chain.is_whole = !of_.ways.is_object(at);
  return chain;
}

std::vector<HolderChain> chains_of(const HeapHolders& found, const ObjectNumbers& numbers, HolderChains& chains) {
  std::vector<HolderChain> all;
  const auto add = [&](Address object) {
    const Node node = numbers.find(object);
    all.push_back(node == kNoNode ? HolderChain{{}, false} : chains.to(node));
  };
  each_line(found.tree, [&](const Holder& line) { add(line.largest); });
  for (const HolderPath& path : found.paths) add(path.steps.empty() ? 0 : path.steps.back().object);
  return all;
}

void mark(HeapHolders& found, const std::vector<bool>& holds) {
  std::size_t next = 0;
  const auto take = [&] { return next < holds.size() && holds[next++]; };
  found.chains = holds.size();
  for (const bool one : holds) found.chains_verified += one ? 1 : 0;
  each_line(found.tree, [&](Holder& line) { line.is_verified = take(); });
  mark_roots(found.tree);
  for (HolderPath& path : found.paths) path.is_verified = take();
}

}  // namespace mixstack::dotnet::holders
