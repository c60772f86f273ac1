// The places to look for symbols, in the user's notation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/diagnosis.h"

namespace mixstack::symbol_files {

/// A folder of this machine, or a server.
struct SymbolPlace {
  enum class Kind : std::uint8_t {
    folder,
    server,        ///< asked by both protocols until one of them finds something
    debuginfod,    ///< debuginfod(8)
    symbol_store,  ///< the symbol server protocol of .NET (SSQP)
  };
  Kind kind = Kind::folder;
  std::string where;  ///< a path, or a URL without a slash at its end
  friend bool operator==(const SymbolPlace&, const SymbolPlace&) = default;
};

struct SymbolPath {
  std::vector<SymbolPlace> places;
  std::vector<Diagnosis> refused;  ///< invalid entries, each with the reason
};

/// `path`: folders and http(s) URLs with ; between them; also `srv*FOLDER*URL`, as other debuggers have it, and
/// `debuginfod*URL`. `debuginfod_urls`: URLs with blanks between them, as in DEBUGINFOD_URLS; they come last. URLs with
/// a user or password in them are refused: they would be shown, and given to redirects.
[[nodiscard]] SymbolPath parse_symbol_path(std::string_view path, std::string_view debuginfod_urls);

}  // namespace mixstack::symbol_files
