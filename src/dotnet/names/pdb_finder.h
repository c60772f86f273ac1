// Finds the PDB of an assembly: in its image, or in a file that has the image's id.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dotnet/names/portable_pdb.h"
#include "dotnet/names/runtime_modules.h"
#include "engine/images/pe_image.h"

namespace mixstack::dotnet::names {

/// The PDB that an image's debug directory names (PE Format, "Debug Directory"; PE-COFF.md of dotnet/runtime).
struct PdbReference {
  Error error;  ///< why it cannot be read what the image says; none: it was read
  PdbId id{};
  std::string name;  ///< the last part of the path that the compiler wrote it to
  bool has_id = false;
  std::uint32_t embedded_rva = 0, embedded_size = 0;  ///< 0: not in the image
};

[[nodiscard]] PdbReference pdb_reference(const images::PeImage& image);

/// The places where a PDB was looked for, and the result.
struct PdbLookup {
  PdbReference wanted;
  std::string assembly, assembly_path;  ///< the assembly it is for
  std::string found;                    ///< path of the file; empty: inside the image, or not found
  std::string refused;                  ///< path of one of that name that does not belong to it
  bool is_edited = false;               ///< the module was changed while it ran: lines of the build are not its lines
  Error error;                          ///< none: it was found
};

/// Where an image is, and the program that uses it, as the target sees them; empty: nowhere, not known.
struct PdbPlaces {
  std::string image, program;
};

/// The PDB of `image`: the one inside, else the file beside it, else the one beside the program (assemblies inside a
/// single file have no folder, and those unpacked from one have another), else what `fetch` finds (null: nothing). Only
/// a portable PDB with the id that the image asks for counts.
/// Errors: `not_found` (none asked for, or no file), `mismatch` (another one's, or not portable), those of opening.
[[nodiscard]] Result<std::shared_ptr<const PortablePdb>> find_pdb(const images::PeImage& image, const PdbPlaces& places,
                                                                  const FileOpener& opener, const PdbFetcher& fetch,
                                                                  PdbLookup& lookup);

}  // namespace mixstack::dotnet::names
