// The key by which a file with symbols is asked for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/images/elf_image.h"

namespace mixstack::symbol_files {

enum class FileKind : std::uint8_t { debug, executable, pdb };

/// The names of a file in all places. Ids and names come from the target: an id goes into paths and URLs as hexadecimal
/// digits, a name only as one part of a path and only if it consists of harmless characters; else it is left out, and
/// places that need it are not asked.
struct SymbolKey {
  FileKind kind = FileKind::debug;
  std::string id;                   ///< lower-case digits: a build id, or GUID and stamp of a PDB
  std::string name;                 ///< of the image, or of the PDB; empty: none that is harmless
  std::vector<std::string> others;  ///< further names it may have in a folder of collected files

  /// `link` is the name in .gnu_debuglink, or empty.
  [[nodiscard]] static SymbolKey debug_file(const images::BuildId& build_id, std::string_view image_path,
                                            std::string_view link);
  [[nodiscard]] static SymbolKey executable(const images::BuildId& build_id, std::string_view image_path);
  [[nodiscard]] static SymbolKey pdb(const std::array<std::byte, 20>& id, std::string_view name);

  /// Whether there is no key: an id of less than four bytes.
  [[nodiscard]] bool empty() const { return id.size() < 8; }
  /// Key of the symbol server protocol of .NET (dotnet/symstore, docs/specs/SSQP_Key_Conventions.md), in lower case:
  /// "_.debug/elf-buildid-sym-ID/_.debug". Empty: it has none.
  [[nodiscard]] std::string store_key() const;
  /// Path on a debuginfod server (debuginfod(8), WEBAPI): "buildid/ID/debuginfo". Empty: PDBs.
  [[nodiscard]] std::string debuginfod_path() const;
  /// "ID.debug", "ID.elf", "ID.pdb".
  [[nodiscard]] std::string cache_name() const;
  /// All paths below a folder at which it may lie: by build id as in gdb, as in symbol stores (with the capitals that
  /// their makers use), as in debuginfod's own cache, and flat.
  [[nodiscard]] std::vector<std::string> paths_in_folder() const;
};

/// Letters, digits and . _ + - only, at most 128, and no dot or dash in front.
[[nodiscard]] bool is_harmless(std::string_view name);
/// "3f2504e0-4f89-11d3-9a0c-0305e82c3301": the GUID that the first 16 bytes are. Without dashes where `plain`.
[[nodiscard]] std::string guid_text(const std::array<std::byte, 20>& id, bool plain);

}  // namespace mixstack::symbol_files
