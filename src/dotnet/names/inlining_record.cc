#include "dotnet/names/inlining_record.h"

#include <algorithm>
#include <set>

namespace mixstack::dotnet::names {
namespace {

constexpr std::size_t kMostBodies = 512;

/// Whether each method of the chain is called at one place only in all the IL that the caller's code was made from: its
/// own and that of all methods that the record says were inlined.
bool are_called_once(CallGraph& graph, const InliningTable& table, MethodKey caller, std::span<const ChainLink> chain) {
  const auto inlined = table.into(caller.rid);
  if (inlined.size() > kMostBodies || table.holds(caller.rid, caller.rid)) return false;
  std::set<MethodKey> bodies{caller};
  for (const std::uint32_t row : inlined) bodies.insert({caller.module, row});
  const bool has_generic = std::any_of(chain.begin(), chain.end(), [&](const ChainLink& link) {
    const CallingMethod* method = graph.method(link.method);
    return method == nullptr || method->is_generic;
  });
  std::vector<unsigned> calls(chain.size(), 0);
  for (const MethodKey body : bodies) {
    const CallingMethod* method = graph.method(body);
    if (method == nullptr) return false;
    for (const IlCall& call : method->calls) {
      const MethodKey target = graph.target(body.module, call.token);
      // A method that is not generic is called by its row within its module, which is always resolved.
      if (target.rid == 0 && has_generic) return false;
      for (std::size_t i = 0; i < chain.size(); i++) calls[i] += chain[i].method == target ? 1 : 0;
      // A method left out of the record may have been inlined, and call any other.
      if (target.module == caller.module && !bodies.contains(target) && graph.is_non_versionable(target)) return false;
    }
  }
  return std::all_of(calls.begin(), calls.end(), [](unsigned n) { return n == 1; });
}

}  // namespace

Record what_is_recorded(CallGraph& graph, const InliningTable& table, MethodKey caller,
                        std::span<const ChainLink> chain) {
  bool is_silent = caller.rid == 0;
  for (const ChainLink& link : chain) {
    if (link.method.module != caller.module) {
      is_silent = true;
    } else if (!table.holds(link.method.rid, caller.rid)) {
      if (!graph.is_non_versionable(link.method)) return Record::denies;
      is_silent = true;
    }
  }
  if (is_silent) return Record::silent;
  const CallingMethod* own = graph.method(caller);
  if (own == nullptr || own->is_generic) return Record::allows;
  for (const ChainLink& link : chain) {
    const CallingMethod* method = graph.method(link.method);
    if (method == nullptr || method->is_virtual) return Record::allows;
  }
  return are_called_once(graph, table, caller, chain) ? Record::proves : Record::allows;
}

}  // namespace mixstack::dotnet::names
