// Separate files with the symbols of a stripped image.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/images/symbol_table.h"

namespace mixstack::images {

/// Opens a file by path as the target sees it (`Target::open_path`).
using PathOpener = std::function<Result<std::shared_ptr<const FileBytes>>(const std::string& path)>;

/// A debug file that was found elsewhere.
struct FetchedFile {
  std::shared_ptr<const FileBytes> file;
  std::string where;
};
/// Fetches the debug file of an image from elsewhere, which may take long; an error when there is none. `link` is the
/// name in its .gnu_debuglink, or empty.
using DebugFetcher =
    std::function<Result<FetchedFile>(const BuildId& build_id, const std::string& image_path, const std::string& link)>;

/// The name of the debug file in .gnu_debuglink; empty where there is none.
[[nodiscard]] std::string debug_link_name(const ElfImage& image);

/// The debug file of an image, null when there is none that fits; `path` is where it was. Looked for as gdb does (GDB
/// manual "Debugging Information in Separate Files"): /usr/lib/debug/.build-id/XX/REST.debug, then the name in
/// .gnu_debuglink beside the image, in .debug below it, and below /usr/lib/debug. A file found by link must have the
/// link's CRC or the image's build id; one found by build id must have that build id.
[[nodiscard]] std::shared_ptr<const ElfImage> find_debug_file(const ElfImage& image, const std::string& image_path,
                                                              const PathOpener& open, std::string* path = nullptr);
/// The ELF image inside .gnu_debugdata (MiniDebugInfo: a .symtab of the functions that .dynsym does not have).
[[nodiscard]] std::shared_ptr<const ElfImage> open_mini_debug_info(const ElfImage& image);
/// The image with the best further source of symbols there is: none when it has a .symtab of its own. `fetch` is asked
/// when nothing on this machine names its functions; it may be null.
[[nodiscard]] SymbolSources find_symbol_sources(std::shared_ptr<const ElfImage> image, const std::string& image_path,
                                                const PathOpener& open, const DebugFetcher& fetch = nullptr);

/// The images that hold the line tables and inlined functions of an image.
struct DebugInformation {
  std::shared_ptr<const ElfImage> image;   ///< with a .debug_info: the image itself, or its debug file; null: none
  std::shared_ptr<const ElfImage> shared;  ///< the part that several debug files share (.gnu_debugaltlink); may be null
};
/// `debug_file`, if it is known already; null: it is looked for. Both parts must have the build ids asked for.
[[nodiscard]] DebugInformation find_debug_information(std::shared_ptr<const ElfImage> image,
                                                      const std::string& image_path, const PathOpener& open,
                                                      std::shared_ptr<const ElfImage> debug_file = nullptr);

}  // namespace mixstack::images
