#include "dotnet/names/source_lines.h"

#include <algorithm>

namespace mixstack::dotnet::names {

std::optional<std::vector<IlMapRow>> SourceLines::map_of(const Frame& frame, std::uint32_t& native) {
  const CodeInfo info = code_.find(frame.pc);
  const Address pc = frame.pc.lookup();
  if (!info.is_managed() || info.origin == 0 || pc < info.origin) return std::nullopt;
  native = static_cast<std::uint32_t>(pc - info.origin);
  auto map = code_.il_map(info);
  if (!map) return std::nullopt;
  return std::move(*map);
}

std::optional<std::uint32_t> SourceLines::il_offset(const Frame& frame) {
  std::uint32_t native = 0;
  const auto map = map_of(frame, native);
  return map ? il_offset_at(*map, native) : std::nullopt;
}

std::optional<std::pair<std::uint32_t, std::uint32_t>> SourceLines::il_range(const Frame& frame) {
  std::uint32_t native = 0;
  const auto map = map_of(frame, native);
  const auto il = map ? il_offset_at(*map, native) : std::nullopt;
  if (!il) return std::nullopt;
  std::uint32_t end = UINT32_MAX;
  for (const IlMapRow& row : *map)
    if (row.il >= 0 && static_cast<std::uint32_t>(row.il) > *il)
      end = std::min(end, static_cast<std::uint32_t>(row.il));
  return std::pair(*il, end);
}

std::optional<SourceLine> SourceLines::at(const Frame& frame, const MethodName& method) {
  if (pdb_of(method) == nullptr) return std::nullopt;
  const auto il = il_offset(frame);
  return il ? of_il(method, *il) : std::nullopt;
}

std::optional<SourceLine> SourceLines::of_il(const MethodName& method, std::uint32_t il) {
  const PortablePdb* pdb = pdb_of(method);
  return pdb == nullptr ? std::nullopt : pdb->line_at(Token(method.token).rid(), il);
}

const PortablePdb* SourceLines::pdb_of(const MethodName& method) {
  const Token token(method.token);
  if (token.table() != TableId::method_def || token.is_nil() || method.is_dynamic) return nullptr;
  return pdb_of(method.module_address);
}

const PortablePdb* SourceLines::pdb_of(Address module) {
  if (const auto known = pdbs_.find(module); known != pdbs_.end()) {
    // It may have been edited since a former capture.
    if (known->second == nullptr || !names_.module(module).is_edited) return known->second.get();
    pdbs_.erase(known);
  }
  if (module == 0 || pdbs_.size() >= kMaxPdbs) return nullptr;
  PdbLookup lookup;
  const auto pdb = names_.pdb(module, fetch_, lookup);
  lookups_.push_back(std::move(lookup));
  return pdbs_.emplace(module, pdb ? *pdb : nullptr).first->second.get();
}

}  // namespace mixstack::dotnet::names
