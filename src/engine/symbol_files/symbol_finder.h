// Files with symbols from all places: folders, the cache, servers.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "engine/symbol_files/symbol_cache.h"
#include "engine/symbol_files/symbol_key.h"
#include "engine/symbol_files/symbol_path.h"
#include "helpers/fetch_protocol/fetch_process.h"

namespace mixstack::symbol_files {

struct SymbolFinderOptions {
  SymbolPath path;
  std::string cache;  ///< folder; empty: what is fetched is kept in memory alone
  std::uint64_t cache_bytes = std::uint64_t{4} << 30;
  std::string fetcher;                             ///< path of mixstack-fetch; empty: beside our program
  std::vector<std::string> fetcher_environment;    ///< "https_proxy=..."
  fetch_link::FetchLimits limits;                  ///< of one file; `total` is cut to what is left of
  std::chrono::milliseconds time_for_all{30'000};  ///< 0: no server is asked
};

struct SymbolFile {
  std::shared_ptr<const FileBytes> file;
  std::string where;  ///< its path on this machine, or its URL where it is kept nowhere
};

/// Finds files; `proof` decides whether one is the file asked for. A file from a server is kept in the cache only after
/// that. Thread-safe: one question at a time.
///
/// Servers are asked only while there is time for them. One that cannot be reached or stalls is not asked again; no
/// file is asked for twice.
class SymbolFinder {
 public:
  /// Empty when it is the right file, else the reason: "it has build id 1234".
  using Proof = std::function<std::string(const std::shared_ptr<const FileBytes>&)>;

  explicit SymbolFinder(SymbolFinderOptions options);

  /// Errors: not_found; mismatch: only other files had the name.
  [[nodiscard]] Result<SymbolFile> find(const SymbolKey& key, const Proof& proof);
  /// Whether any server may be asked.
  [[nodiscard]] bool uses_network() const { return !servers_.empty(); }
  /// Refusals of servers, folders and files of the path, each once.
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Server {
    SymbolPlace place;
    bool is_given_up = false;
    unsigned refusals = 0;
  };

  [[nodiscard]] Result<SymbolFile> find_in_folders(const SymbolKey& key, const Proof& proof);
  [[nodiscard]] Result<SymbolFile> find_in_cache(const SymbolKey& key, const Proof& proof);
  [[nodiscard]] Result<SymbolFile> find_on_servers(const SymbolKey& key, const Proof& proof);
  [[nodiscard]] Result<SymbolFile> fetch(Server& server, const std::string& path, const SymbolKey& key,
                                         const Proof& proof);
  [[nodiscard]] Result<SymbolFile> accept(const StagedFile& staged, const std::string& url, const SymbolKey& key,
                                          const Proof& proof);
  void note(Server& server, const fetch_link::FetchEnd& end);
  void say(Diagnosis diagnosis);

  SymbolFinderOptions options_;
  std::vector<std::string> folders_;
  std::vector<Server> servers_;
  mutable std::mutex mutex_;
  SymbolCache cache_;
  fetch_link::FetchProcess fetcher_;
  bool has_no_fetcher_ = false;
  Clock::duration left_;
  unsigned given_up_ = 0;                      ///< questions for which there was no time
  std::set<std::string> asked_;                ///< keys that servers were asked for, found or not
  std::map<std::string, SymbolFile> fetched_;  ///< files that could not be kept in the cache
  std::vector<Diagnosis> said_;
};

}  // namespace mixstack::symbol_files
