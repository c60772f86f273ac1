#include "features/symbols/fetch_summary.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "engine/symbol_files/symbol_path.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::symbol_answers {
namespace {

using report::escape_for_terminal;
using symbol_files::SymbolPlace;

constexpr std::size_t kMostFiles = 65536;  // others may be able to fill the folder
constexpr std::uint64_t kMegabyte = 1'000'000;

std::string bytes_words(std::uint64_t bytes) {
  return bytes < kMegabyte ? fmt::format("{} bytes", bytes) : report::size_words(bytes);
}

std::string files_words(std::size_t count) { return fmt::format("{} file{}", count, count == 1 ? "" : "s"); }

std::vector<std::string> servers_of(const SymbolOptions& options) {
  std::vector<std::string> servers;
  for (const SymbolPlace& place : symbol_files::parse_symbol_path(options.path, options.debuginfod_urls).places)
    if (place.kind != SymbolPlace::Kind::folder &&
        std::find(servers.begin(), servers.end(), place.where) == servers.end())
      servers.push_back(place.where);
  return servers;
}

/// The file's name in the cache folder; empty: it is elsewhere.
std::string name_in_cache(const std::string& path, const SymbolOptions& options) {
  const std::size_t slash = path.rfind('/');
  const bool is_there = !options.cache.empty() && slash != std::string::npos && path.substr(0, slash) == options.cache;
  return is_there ? path.substr(slash + 1) : "";
}

class Summary {
 public:
  explicit Summary(const FetchReport& outcome) : outcome_(outcome), servers_(servers_of(outcome.options)) {
    for (const ModuleSymbols& m : outcome.modules) sort_in(m);
    add_other_files();
  }

  [[nodiscard]] std::string text() const {
    std::string text = "\n" + fetched_text();
    if (!cached_.empty()) text += "Out of the cache, fetched before:\n" + cached_;
    if (!used_.empty()) text += "Used where they lie, not copied:\n" + used_;
    if (missing_.empty()) return text;
    std::string asked;
    for (const std::string& server : servers_) asked += (asked.empty() ? "" : ", ") + escape_for_terminal(server);
    return text + fmt::format("Not found{}:\n", asked.empty() ? "" : " (asked: " + asked + ")") + missing_;
  }

 private:
  void sort_in(const ModuleSymbols& m) {
    const std::string module = escape_for_terminal(m.module);
    if (m.is_missing()) {
      missing_ += fmt::format("    {}: {}\n", module, why_missing(m));
    } else if (const std::string name = name_in_cache(m.found, outcome_.options); !name.empty()) {
      if (is_new(name))
        add_fetched(name, module);
      else
        cached_ += fmt::format("    {}\n", module);
    } else if (m.source == ModuleSymbols::Source::file && m.found.find("://") != std::string::npos) {
      files_++;
      fetched_ += fmt::format("    {}, kept nowhere, from {}\n", module, escape_for_terminal(m.found));
    } else if (m.source == ModuleSymbols::Source::file) {
      used_ += fmt::format("    {}: {}\n", module, escape_for_terminal(m.found));
    }
  }

  /// Adds fetched files that belong to no listed module: images of a core, and modules that no stack runs through.
  void add_other_files() {
    for (const auto& [name, file] : outcome_.after)
      if (is_new(name) && !counted_.contains(name)) add_fetched(name, escape_for_terminal(name));
  }

  void add_fetched(const std::string& name, const std::string& what) {
    const std::uint64_t bytes = outcome_.after.at(name).bytes;
    fetched_ += fmt::format("    {}, {}\n", what, bytes_words(bytes));
    if (!counted_.emplace(name, bytes).second) return;  // two modules, one file
    files_++;
    bytes_ += bytes;
  }

  [[nodiscard]] bool is_new(const std::string& name) const {
    const auto now = outcome_.after.find(name), then = outcome_.before.find(name);
    return now != outcome_.after.end() && (then == outcome_.before.end() || then->second != now->second);
  }

  [[nodiscard]] std::string fetched_text() const {
    if (files_ == 0) return "Nothing was fetched.\n";
    const std::string size = counted_.empty() ? "" : ", " + bytes_words(bytes_);
    const std::string where = counted_.empty() ? "" : ", into " + escape_for_terminal(outcome_.options.cache);
    return fmt::format("Fetched {}{}{}:\n", files_words(files_), size, where) + fetched_;
  }

  [[nodiscard]] std::string why_missing(const ModuleSymbols& m) const {
    if (!m.remark.empty()) return escape_for_terminal(m.remark);
    if (m.id.empty()) return "it has no id that could be asked for";
    if (servers_.empty()) return "no server was asked";
    const bool has_failed =
        std::any_of(outcome_.diagnoses.begin(), outcome_.diagnoses.end(), [this](const Diagnosis& d) {
          return d.subject == "symbol servers" ||
                 std::any_of(servers_.begin(), servers_.end(),
                             [&d](const std::string& server) { return d.subject.starts_with(server); });
        });
    if (has_failed) return "no server gave it; what failed is said above";
    return servers_.size() == 1 ? "the server does not have it" : "no server has it";
  }

  const FetchReport& outcome_;
  std::vector<std::string> servers_;
  std::string fetched_, cached_, used_, missing_;
  std::map<std::string, std::uint64_t> counted_;  ///< fetched files of the cache
  std::size_t files_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace

CacheContent cache_content(const std::string& folder) {
  CacheContent content;
  const std::unique_ptr<DIR, int (*)(DIR*)> list(folder.empty() ? nullptr : ::opendir(folder.c_str()), &::closedir);
  if (list == nullptr) return content;
  while (const dirent* entry = ::readdir(list.get())) {
    const std::string name = entry->d_name;
    struct stat st {};
    if (name.starts_with('.') || ::lstat((folder + "/" + name).c_str(), &st) != 0 || !S_ISREG(st.st_mode)) continue;
    content[name] = {st.st_ino, static_cast<std::uint64_t>(st.st_size)};
    if (content.size() >= kMostFiles) break;
  }
  return content;
}

std::string fetch_summary(const FetchReport& outcome) { return Summary(outcome).text(); }

}  // namespace mixstack::symbol_answers
