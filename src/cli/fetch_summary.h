// What `mixstack symbols fetch` did: which files came, which were there, which nobody had.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "mixstack/diagnosis.h"
#include "mixstack/symbol_files.h"

namespace mixstack::cli {

/// The files of the cache's folder. A file that was fetched again is another one under the same name.
struct CachedFile {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const CachedFile&, const CachedFile&) = default;
};
using CacheContent = std::map<std::string, CachedFile>;

/// By name; nothing where there is no such folder.
[[nodiscard]] CacheContent cache_content(const std::string& folder);

struct FetchOutcome {
  SymbolOptions options;  ///< where was looked
  CacheContent before, after;
  std::span<const ModuleSymbols> modules;
  std::span<const Diagnosis> diagnoses;  ///< what servers and others were refused, said already
};

/// Some lines, for the end of what the command prints.
[[nodiscard]] std::string fetch_summary(const FetchOutcome& outcome);

}  // namespace mixstack::cli
