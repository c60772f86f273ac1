#include "dotnet/runtime/assembly_pdb.h"

namespace mixstack::dotnet {

std::optional<names::PdbLookup> look_for_pdb(const std::string& path, const names::FileOpener& opener,
                                             const names::PdbFetcher& fetch) {
  const auto file = opener(path);
  if (!file) return std::nullopt;
  const auto image = images::PeImage::from_bytes((*file)->bytes(), images::PeLayout::flat);
  if (!image || !image->cli_header()) return std::nullopt;
  names::PdbLookup lookup;
  lookup.assembly_path = path;
  lookup.assembly = path.substr(path.rfind('/') + 1);
  if (lookup.assembly.ends_with(".dll")) lookup.assembly.resize(lookup.assembly.size() - 4);
  (void)names::find_pdb(*image, {path, {}}, opener, fetch, lookup);
  return lookup;
}

}  // namespace mixstack::dotnet
