#include "session/symbol_sources.h"

#include "dotnet/names/runtime_modules.h"
#include "engine/symbol_files/proof.h"

namespace mixstack::session {

using symbol_files::SymbolKey;

SharedFinder make_symbol_finder(const SymbolOptions& options) {
  symbol_files::SymbolFinderOptions finder;
  finder.path = symbol_files::parse_symbol_path(options.path, options.debuginfod_urls);
  finder.cache = options.cache;
  finder.cache_bytes = options.cache_bytes;
  finder.fetcher = options.fetcher;
  finder.fetcher_environment = options.proxies;
  finder.time_for_all = options.time_for_all;
  finder.limits.total = options.time_for_all;
  finder.limits.stall = options.time_without_data;
  finder.limits.bytes = options.most_bytes;
  return std::make_shared<symbol_files::SymbolFinder>(std::move(finder));
}

images::DebugFetcher debug_fetcher(SharedFinder finder, std::shared_ptr<images::FileBudget> budget) {
  return
      [finder = std::move(finder), budget = std::move(budget)](const images::BuildId& id, const std::string& path,
                                                               const std::string& link) -> Result<images::FetchedFile> {
        const auto proof = [&id](const std::shared_ptr<const FileBytes>& file) {
          return symbol_files::prove_elf(file, id, true);
        };
        auto found = finder->find(SymbolKey::debug_file(id, path, link), proof);
        if (!found) return fail(found.error());
        return images::FetchedFile{images::within_budget(std::move(found->file), budget), std::move(found->where)};
      };
}

dotnet::names::PdbFetcher pdb_fetcher(SharedFinder finder) {
  return
      [finder = std::move(finder)](const auto& id, const std::string& name, const auto& proof) -> Result<std::string> {
        auto found = finder->find(SymbolKey::pdb(id, name), proof);
        if (!found) return fail(found.error());
        return std::move(found->where);
      };
}

process::FileFetcher executable_fetcher(SharedFinder finder) {
  return [finder = std::move(finder)](const images::BuildId& id,
                                      const std::string& path) -> Result<process::FileCandidate> {
    const auto proof = [&id](const std::shared_ptr<const FileBytes>& file) {
      return symbol_files::prove_elf(file, id, false);
    };
    auto found = finder->find(SymbolKey::executable(id, path), proof);
    if (!found) return fail(found.error());
    return process::FileCandidate{std::move(found->file), std::move(found->where)};
  };
}

}  // namespace mixstack::session
