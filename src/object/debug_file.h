// Separate files with the symbols of a stripped image.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "object/symbol_table.h"

namespace mixstack::object {

/// Opens a file by path as the target sees it (`Target::open_path`).
using PathOpener = std::function<Result<std::shared_ptr<const FileBytes>>(const std::string& path)>;

/// Fetches the debug file of a build id from elsewhere, which may take its time; an error when there is none.
using DebugFetcher = std::function<Result<std::shared_ptr<const FileBytes>>(const BuildId& build_id)>;

/// The debug file of an image, null when there is none that fits. Looked for as gdb does (GDB manual "Debugging
/// Information in Separate Files"): /usr/lib/debug/.build-id/XX/REST.debug, then the name in .gnu_debuglink beside the
/// image, in .debug below it, and below /usr/lib/debug. A file found by link must have the link's CRC or the image's
/// build id; one found by build id must have that build id.
[[nodiscard]] std::shared_ptr<const ElfImage> find_debug_file(const ElfImage& image, const std::string& image_path,
                                                              const PathOpener& open);
/// The ELF image inside .gnu_debugdata (MiniDebugInfo: a .symtab of the functions that .dynsym does not have).
[[nodiscard]] std::shared_ptr<const ElfImage> open_mini_debug_info(const ElfImage& image);
/// The image with the best further source of symbols there is: none when it has a .symtab of its own. `fetch` is asked
/// when nothing on this machine names its functions; it may be null.
[[nodiscard]] SymbolSources find_symbol_sources(std::shared_ptr<const ElfImage> image, const std::string& image_path,
                                                const PathOpener& open, const DebugFetcher& fetch = nullptr);

}  // namespace mixstack::object
