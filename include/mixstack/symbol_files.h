// Symbol files that are not beside their image: where to look for them, and which were found.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mixstack {

/// Which lines and inlined functions native frames get. Child processes read them, one for each image (fork, so
/// SIGCHLD), and end with the session. Sessions over our own process have none unless asked for.
enum class NativeLines : std::uint8_t {
  none,
  at_hand,  ///< none from debug information compressed to more than a megabyte: unpacking takes longer than a dump
  all,
};

/// Sources of symbols that neither the image nor a file beside it has. Files are verified: an ELF file must have the
/// build id, a PDB the id, that was asked for.
struct SymbolOptions {
  /// Folders and http(s) URLs separated by ; (docs/symbols.md says how they are searched). A URL makes mixstack-fetch
  /// use the network.
  std::string path;
  /// URLs of debuginfod servers separated by blanks, as in DEBUGINFOD_URLS; asked last.
  std::string debuginfod_urls;
  /// Folder for fetched files, searched before any server is asked; empty: none. It must belong to our user, and be
  /// writable by no other.
  std::string cache;
  std::uint64_t cache_bytes = std::uint64_t{4} << 30;  ///< the least recently used files are removed
  /// For all servers of the session together, at most an hour; after that, places stay without names. 0: ask none.
  std::chrono::milliseconds time_for_all{30'000};
  std::chrono::milliseconds time_without_data{10'000};  ///< give up on a server that sends nothing for so long
  std::uint64_t most_bytes = std::uint64_t{1} << 30;    ///< largest file to fetch
  std::string fetcher;  ///< path of mixstack-fetch; empty: beside our own program, or in ../libexec/mixstack
  std::vector<std::string> proxies;  ///< its environment: "https_proxy=http://..."
  NativeLines lines = NativeLines::at_hand;
  /// Whether native frames are named at all; if not, they have only module and offset, and their symbol tables are not
  /// read.
  bool native_names = true;
};

/// The symbols of one image or assembly: whether its functions have names, its methods lines.
struct ModuleSymbols {
  enum class Kind : std::uint8_t { native, managed };
  enum class Source : std::uint8_t {
    image,            ///< its own symbol table; the PDB inside
    file,             ///< a separate file, `found`
    mini_debug_info,  ///< .gnu_debugdata: names of functions
    exports,          ///< only exported functions have names
    nothing,
  };
  Kind kind = Kind::native;
  Source source = Source::nothing;
  std::string module;       ///< short name
  std::string path;         ///< as the target sees it
  std::string id;           ///< build id; for managed modules the PDB's GUID. Empty: none, so nothing can be fetched
  std::string found;        ///< the file with the symbols, as opened
  std::string wanted_file;  ///< its usual name: "libcoreclr.so.dbg", "App.pdb"
  std::string store_key;    ///< its key on symbol servers; empty: none
  /// Usual source if it is missing: "libc6-dbg" or a NuGet package, its version, and a server.
  std::string package, package_version, server;
  std::string remark;        ///< "/app/App.pdb is of another build"
  std::size_t frames = 0;    ///< of all stacks
  std::size_t nameless = 0;  ///< of these, without a name (native) or a line (managed)
  [[nodiscard]] bool is_missing() const { return source == Source::nothing || source == Source::exports; }
};

}  // namespace mixstack
