// Files with symbols that do not lie beside what they belong to: where to look for them, and which were found.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace mixstack {

/// Which lines and inlined functions native frames have. They are read by children of our process, one for each image
/// (fork, so SIGCHLD), which end with the session; sessions over our own process have none unless asked.
enum class NativeLines : std::uint8_t {
  none,
  at_hand,  ///< not of debug information that is packed to more than a megabyte: unpacking takes longer than a dump
  all,
};

/// Where symbols come from that no image brings along and no file beside it has. Nothing is believed: an ELF file must
/// have the build id, a PDB the id, that was asked for.
struct SymbolOptions {
  /// Folders and http(s) URLs with ; between them; docs/symbols.md says how they are looked at. With a URL the network
  /// is used, by mixstack-fetch.
  std::string path;
  /// URLs of debuginfod servers with blanks between them, as in DEBUGINFOD_URLS; asked last.
  std::string debuginfod_urls;
  /// Folder that keeps what was fetched, looked into before any server is asked; empty: none. It must belong to our
  /// user, and nobody else may be able to write to it.
  std::string cache;
  std::uint64_t cache_bytes = std::uint64_t{4} << 30;  ///< what was used longest ago goes
  /// For all servers of the session together, at most an hour; places stay without names after that. 0: none is asked.
  std::chrono::milliseconds time_for_all{30'000};
  std::chrono::milliseconds time_without_data{10'000};  ///< a server that sends nothing for so long is left alone
  std::uint64_t most_bytes = std::uint64_t{1} << 30;    ///< of one file
  std::string fetcher;  ///< path of mixstack-fetch; empty: beside our own program, or in ../libexec/mixstack
  std::vector<std::string> proxies;  ///< its environment: "https_proxy=http://..."
  NativeLines lines = NativeLines::at_hand;
  /// Whether native frames are named at all; else they have module and offset alone, and no symbol table is read for
  /// them.
  bool native_names = true;
};

/// What is known of one image or assembly: whether its functions have names, or its methods lines.
struct ModuleSymbols {
  enum class Kind : std::uint8_t { native, managed };
  enum class Source : std::uint8_t {
    image,            ///< its own symbol table; the PDB inside
    file,             ///< a separate file, `found`
    mini_debug_info,  ///< .gnu_debugdata: names of functions
    exports,          ///< only what it exports has a name
    nothing,
  };
  Kind kind = Kind::native;
  Source source = Source::nothing;
  std::string module;       ///< short name
  std::string path;         ///< as the target sees it
  std::string id;           ///< build id; of a managed one the PDB's GUID. Empty: nothing can be asked by
  std::string found;        ///< the file with the symbols, as it was opened
  std::string wanted_file;  ///< what it is usually called: "libcoreclr.so.dbg", "App.pdb"
  std::string store_key;    ///< under which symbol servers have it; empty: none
  /// Where it usually is, if it is missing: "libc6-dbg" or a NuGet package, its version, and a server.
  std::string package, package_version, server;
  std::string remark;        ///< "/app/App.pdb is of another build"
  std::size_t frames = 0;    ///< of all stacks
  std::size_t nameless = 0;  ///< of these, without a name (native) or without a line (managed)
  [[nodiscard]] bool is_missing() const { return source == Source::nothing || source == Source::exports; }
};

}  // namespace mixstack
