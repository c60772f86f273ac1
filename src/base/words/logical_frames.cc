#include "mixstack/symbol.h"

namespace mixstack {

std::string_view to_string(Inlining inlining) {
  switch (inlining) {
    case Inlining::none:
      break;
    case Inlining::debug_information:
      return "debug_information";
    case Inlining::runtime:
      return "runtime";
    case Inlining::inferred:
      return "inferred";
  }
  return "none";
}

std::vector<std::uint32_t> logical_frames(std::span<const SymbolInfo> symbols, std::uint32_t symbol) {
  std::vector<std::uint32_t> all{symbol};
  while (all.back() < symbols.size() && all.size() < kMostLogicalFrames) {
    const std::uint32_t outer = symbols[all.back()].inlined_into;
    if (outer == 0) break;
    all.push_back(outer);
  }
  return all;
}

std::uint32_t own_function(std::span<const SymbolInfo> symbols, std::uint32_t symbol) {
  for (std::size_t i = 1; i < kMostLogicalFrames && symbol < symbols.size(); i++) {
    if (symbols[symbol].inlined_into == 0) break;
    symbol = symbols[symbol].inlined_into;
  }
  return symbol;
}

}  // namespace mixstack
