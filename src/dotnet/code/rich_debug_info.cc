#include "dotnet/code/rich_debug_info.h"

#include <algorithm>

#include "dotnet/code/nibbles.h"

namespace mixstack::dotnet {
namespace {

constexpr std::int32_t kProlog = -2;  // ICorDebugInfo::PROLOG, where the differences start
constexpr unsigned kMostDepth = 256;

struct Links {
  std::uint32_t child = 0, sibling = 0;
};

/// Parents by the children that nodes name; a node that is named twice keeps the first.
Result<void> find_parents(std::vector<RichDebugInfo::Node>& nodes, std::span<const Links> links) {
  constexpr std::uint32_t kNone = UINT32_MAX;
  for (auto& node : nodes) node.parent = kNone;
  if (nodes.empty()) return {};
  nodes.front().parent = 0;
  for (std::uint32_t i = 0; i < nodes.size(); i++) {
    std::uint32_t left = static_cast<std::uint32_t>(nodes.size());
    for (std::uint32_t child = links[i].child; child != 0; child = links[child].sibling) {
      if (child >= nodes.size() || left-- == 0) return fail(ErrorCode::malformed, child);
      if (nodes[child].parent != kNone) break;  // its siblings have theirs, too
      nodes[child].parent = i;
    }
  }
  return {};
}

}  // namespace

Result<RichDebugInfo> decode_rich_debug_info(std::span<const std::byte> bytes, unsigned pointer_size) {
  Nibbles in(bytes);
  const std::uint32_t nodes = in.number(), rows = in.number();
  if (!in.ok()) return fail(ErrorCode::truncated);
  if (nodes > RichDebugInfo::kMostNodes || rows > RichDebugInfo::kMostRows)
    return fail(ErrorCode::limit_exceeded, std::max(nodes, rows));
  RichDebugInfo info;
  std::vector<Links> links;
  std::uint32_t il = static_cast<std::uint32_t>(kProlog), child = 0, sibling = 0;
  for (std::uint32_t i = 0; i < nodes && in.ok(); i++) {
    const Address method = in.plain(pointer_size * 2);
    il += static_cast<std::uint32_t>(in.signed_number());
    child += static_cast<std::uint32_t>(in.signed_number());
    sibling += static_cast<std::uint32_t>(in.signed_number());
    info.nodes.push_back({method, il, 0});
    links.push_back({child, sibling});
  }
  std::uint32_t native = 0, node = 0;
  il = static_cast<std::uint32_t>(kProlog);
  for (std::uint32_t i = 0; i < rows && in.ok(); i++) {
    native += in.number();
    node += static_cast<std::uint32_t>(in.signed_number());
    il += static_cast<std::uint32_t>(in.signed_number());
    (void)in.number();  // kinds of source
    info.rows.push_back({native, node, static_cast<std::int32_t>(il)});
    if (info.rows.size() > 1 && native < info.rows[info.rows.size() - 2].native) return fail(ErrorCode::malformed);
  }
  if (!in.ok()) return fail(ErrorCode::truncated);
  if (const auto linked = find_parents(info.nodes, links); !linked) return fail(linked.error());
  return info;
}

std::vector<InlinedMethod> methods_at(const RichDebugInfo& info, std::uint32_t native) {
  auto row = std::upper_bound(info.rows.begin(), info.rows.end(), native,
                              [](std::uint32_t at, const RichDebugInfo::Row& r) { return at < r.native; });
  if (row == info.rows.begin()) return {};
  // If several rows have the same address, the last one is valid.
  --row;
  std::vector<InlinedMethod> methods;
  std::uint32_t node = row->node;
  std::optional<std::uint32_t> il;
  if (row->il >= 0) il = static_cast<std::uint32_t>(row->il);
  for (unsigned depth = 0; depth < kMostDepth && node < info.nodes.size(); depth++) {
    methods.push_back({info.nodes[node].method, il});
    if (node == 0) return methods;
    il = info.nodes[node].il;
    node = info.nodes[node].parent;
  }
  return {};
}

}  // namespace mixstack::dotnet
