// Awaiting async methods, shown outside of the stacks of those they await.
#include <algorithm>

#include "features/record/stack_recorder.h"

namespace mixstack::record {

/// The node of the methods that await a sampled one; 0: none. A sample is walked some time after it was taken. If the
/// method has ended by then, its awaiters are inferred from earlier samples, provided they were always the same. A
/// chain that is a prefix of the known one is the same: the next method had just ended.
std::optional<std::uint32_t> StackRecorder::async_node(const AsyncCallersOfThread& callers) {
  const auto known = awaited_by_.find(callers.method);
  if (!callers.are_told) return known == awaited_by_.end() || known->second.differs ? 0 : known->second.node;
  std::optional<std::uint32_t> node = 0;
  for (std::size_t i = callers.methods.size(); node && i-- > 0;) {
    const auto number = names_.caller(callers.methods[i]);
    node = number ? shared_.recording.node({*node, *number}) : std::nullopt;
  }
  if (!node || callers.method == 0 || callers.methods.empty()) return node;
  std::vector<std::string> names;
  for (const SymbolInfo& method : callers.methods) names.push_back(method.name);
  if (known == awaited_by_.end()) {
    if (awaited_by_.size() < kMostUnknown) awaited_by_.emplace(callers.method, AwaitedBy{std::move(names), *node});
    return node;
  }
  AwaitedBy& always = known->second;
  const auto [end, known_end] = std::mismatch(names.begin(), names.end(), always.names.begin(), always.names.end());
  if (end != names.end() && known_end != always.names.end()) always.differs = true;
  if (known_end == always.names.end() && end != names.end()) always = {std::move(names), *node, always.differs};
  return node;
}

}  // namespace mixstack::record
