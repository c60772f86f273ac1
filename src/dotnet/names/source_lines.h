// Source lines of managed frames.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dotnet/code/code_manager.h"
#include "dotnet/names/method_names.h"
#include "dotnet/names/pdb_finder.h"
#include "dotnet/names/portable_pdb.h"

namespace mixstack::dotnet::names {

/// From a frame's code to IL by the runtime's map, from IL to a line by the PDB of its assembly. Borrows both. To be
/// asked when the target runs again. Not thread-safe.
class SourceLines {
 public:
  static constexpr std::size_t kMaxPdbs = 1024;  ///< for so many assemblies; others have no lines

  /// `fetch` looks for PDBs elsewhere; null: they are not looked for there.
  SourceLines(CodeManager& code, MethodNames& names, PdbFetcher fetch = nullptr)
      : code_(code), names_(names), fetch_(std::move(fetch)) {}

  /// Nothing where one of the two is missing.
  [[nodiscard]] std::optional<SourceLine> at(const Frame& frame, const MethodName& method);

  /// The line of an IL offset of a method.
  [[nodiscard]] std::optional<SourceLine> of_il(const MethodName& method, std::uint32_t il);
  /// The IL of a frame's place: from the offset in the map up to the next one in it. Nothing where there is no map.
  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint32_t>> il_range(const Frame& frame);
  /// The lookups for all assemblies asked about so far.
  [[nodiscard]] const std::vector<PdbLookup>& lookups() const { return lookups_; }

 private:
  [[nodiscard]] std::optional<std::vector<IlMapRow>> map_of(const Frame& frame, std::uint32_t& native);
  [[nodiscard]] std::optional<std::uint32_t> il_offset(const Frame& frame);
  [[nodiscard]] const PortablePdb* pdb_of(const MethodName& method);
  [[nodiscard]] const PortablePdb* pdb_of(Address module);

  CodeManager& code_;
  MethodNames& names_;
  PdbFetcher fetch_;
  std::vector<PdbLookup> lookups_;
  std::unordered_map<Address, std::shared_ptr<const PortablePdb>> pdbs_;  ///< by Module; null: none found
};

}  // namespace mixstack::dotnet::names
