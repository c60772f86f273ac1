#include "engine/symbol_files/proof.h"

#include <elf.h>

#include <algorithm>

namespace mixstack::symbol_files {

std::string prove_elf(const std::shared_ptr<const FileBytes>& file, const images::BuildId& wanted, bool wants_symbols) {
  const auto image = images::ElfImage::from_file(file);
  if (!image) return "it is no ELF file";
  const images::BuildId& found = (*image)->build_id();
  if (found.empty()) return "it has no build id";
  if (found != wanted) return "it has build id " + found.hex();
  const auto sections = (*image)->sections();
  const bool has_symbols = std::any_of(sections.begin(), sections.end(),
                                       [](const images::Section& s) { return s.type == SHT_SYMTAB && s.size != 0; });
  return has_symbols || !wants_symbols ? "" : "it has no symbol table";
}

}  // namespace mixstack::symbol_files
