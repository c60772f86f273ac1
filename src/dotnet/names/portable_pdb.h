// Portable PDBs: which source line a method's IL was compiled from (Portable PDB v1.0 format specification).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dotnet/names/metadata.h"

namespace mixstack::dotnet::names {

struct SourceLine {
  std::string file;  ///< as the compiler was told
  std::uint32_t line = 0;
};

/// Local variables that have names where a method stands.
struct PdbLocals {
  std::uint32_t signature = 0;  ///< row of StandAloneSig of the assembly, which has their types; 0: none
  struct Local {
    std::uint16_t slot = 0;
    std::string_view name;  ///< as long as the PDB
  };
  std::vector<Local> list;  ///< of scopes around the place, outer ones first
};

/// A PDB as its tables say it. All input is hostile: a damaged method has no lines. Not thread-safe.
class PortablePdb {
 public:
  /// Errors: those of Metadata::open; `mismatch`: metadata, but no PDB.
  [[nodiscard]] static Result<std::shared_ptr<const PortablePdb>> open(std::shared_ptr<MetadataBytes> bytes);

  [[nodiscard]] const PdbId& id() const { return *metadata_->pdb_id(); }
  /// The line of the last visible sequence point at or before `il`, as the runtime's own stack traces have it. Nothing
  /// for a method without visible ones. `method` is a row of MethodDef.
  [[nodiscard]] std::optional<SourceLine> line_at(std::uint32_t method, std::uint32_t il) const;
  /// At most kMostLocals of those whose scopes hold `il`, without what only the compiler knows. `method` as above.
  [[nodiscard]] PdbLocals locals_at(std::uint32_t method, std::uint32_t il) const;
  static constexpr std::size_t kMostLocals = 256;

 private:
  explicit PortablePdb(std::shared_ptr<const Metadata> metadata) : metadata_(std::move(metadata)) {}
  [[nodiscard]] std::string document(std::uint32_t row) const;

  std::shared_ptr<const Metadata> metadata_;
};

}  // namespace mixstack::dotnet::names
