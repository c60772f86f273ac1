// Summary of `mixstack symbols fetch`: files fetched, files in the cache before, files not found.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "mixstack/diagnosis.h"
#include "mixstack/symbol_files.h"

namespace mixstack::symbol_answers {

/// A file of the cache folder. A file that was fetched again differs, under the same name.
struct CachedFile {
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const CachedFile&, const CachedFile&) = default;
};
using CacheContent = std::map<std::string, CachedFile>;

/// The files of the cache folder by name; empty: no such folder.
[[nodiscard]] CacheContent cache_content(const std::string& folder);

struct FetchReport {
  SymbolOptions options;  ///< the places that were searched
  CacheContent before, after;
  std::span<const ModuleSymbols> modules;
  std::span<const Diagnosis> diagnoses;  ///< failures of servers and others, reported already
};

/// Some lines, for the end of the command's output.
[[nodiscard]] std::string fetch_summary(const FetchReport& outcome);

}  // namespace mixstack::symbol_answers
