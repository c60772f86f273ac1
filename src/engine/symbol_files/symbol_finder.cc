#include "engine/symbol_files/symbol_finder.h"

#include <algorithm>
#include <cerrno>

#include "engine/images/file_bytes.h"

namespace mixstack::symbol_files {
namespace {

using fetch_link::FetchEnd;
using fetch_link::FetchLimits;
using fetch_link::FetchOutcome;
using Kind = SymbolPlace::Kind;

constexpr std::size_t kMostQuestions = 1024, kMostSaid = 64;
constexpr unsigned kMostRefusals = 3;  // of one server, by HTTP status
constexpr std::chrono::hours kMostTime{1};

/// + is a blank to some servers.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) c == '+' ? text += "%2B" : text += c;
  return text;
}

/// Paths that a server may have the file at. The symbol server protocol first, because only such servers have .NET's
/// files.
std::vector<std::string> paths_on(const SymbolPlace& place, const SymbolKey& key) {
  std::vector<std::string> paths;
  if (place.kind != Kind::debuginfod) paths.push_back(escaped(key.store_key()));
  if (place.kind != Kind::symbol_store) paths.push_back(key.debuginfod_path());
  std::erase(paths, std::string());
  return paths;
}

/// The error that programs read: each cause has an errno of its own, or a value (an HTTP status, a number of libcurl).
Error error_of(const FetchEnd& end) {
  const auto limit = [](int number, std::uint64_t value = 0) {
    return Error{ErrorCode::limit_exceeded, number, value};
  };
  const auto io = [](int number, std::uint64_t value = 0) { return Error{ErrorCode::io_error, number, value}; };
  switch (end.outcome) {
    case FetchOutcome::no_connection:
      return io(static_cast<int>(end.value & 0xffff));
    case FetchOutcome::no_such_host:
      return {ErrorCode::not_found, 0, 0};
    case FetchOutcome::timed_out:
    case FetchOutcome::given_up:
      return limit(ETIMEDOUT);
    case FetchOutcome::too_large:
      return limit(EFBIG, end.value);
    case FetchOutcome::redirects:
      return limit(ELOOP);
    case FetchOutcome::cut_short:
      return io(ENODATA);
    case FetchOutcome::untrusted:
      return io(EKEYREJECTED);
    case FetchOutcome::garbled:
      return io(EPROTO);
    default:
      return io(0, end.value);
  }
}

}  // namespace

SymbolFinder::SymbolFinder(SymbolFinderOptions options)
    : options_(std::move(options)),
      cache_(options_.cache, options_.cache_bytes),
      fetcher_({.program = options_.fetcher, .environment = options_.fetcher_environment}),
      left_(std::clamp<std::chrono::milliseconds>(options_.time_for_all, {}, kMostTime)) {
  said_ = options_.path.refused;
  const bool asks = options_.time_for_all.count() > 0;
  for (const SymbolPlace& place : options_.path.places) {
    if (place.kind == Kind::folder) folders_.push_back(place.where);
    if (place.kind != Kind::folder && asks) servers_.push_back({place});
  }
}

Result<SymbolFile> SymbolFinder::find(const SymbolKey& key, const Proof& proof) {
  if (key.empty()) return fail(ErrorCode::not_found);
  const std::lock_guard lock(mutex_);
  Error error{ErrorCode::not_found, 0, 0};
  for (auto look : {&SymbolFinder::find_in_folders, &SymbolFinder::find_in_cache, &SymbolFinder::find_on_servers}) {
    auto found = (this->*look)(key, proof);
    if (found) return found;
    if (found.error().code != ErrorCode::not_found) error = found.error();
  }
  return fail(error);
}

Result<SymbolFile> SymbolFinder::find_in_folders(const SymbolKey& key, const Proof& proof) {
  Error error{ErrorCode::not_found, 0, 0};
  for (const std::string& folder : folders_) {
    for (const std::string& below : key.paths_in_folder()) {
      const std::string path = folder + "/" + below;
      auto file = images::open_file_bytes(path);
      if (!file) continue;
      const std::string wrong = proof(*file);
      if (wrong.empty()) return SymbolFile{std::move(*file), path};
      error = {ErrorCode::mismatch, 0, 0};
      // A folder of collected files may hold the stripped image itself, and files of many builds under one name.
      const bool is_of_this_id = std::find(key.others.begin(), key.others.end(), below) == key.others.end();
      if (is_of_this_id) say({error, path, wrong});
    }
  }
  return fail(error);
}

Result<SymbolFile> SymbolFinder::find_in_cache(const SymbolKey& key, const Proof& proof) {
  if (const auto at = fetched_.find(key.cache_name()); at != fetched_.end() && proof(at->second.file).empty())
    return at->second;
  auto file = cache_.find(key.cache_name());
  if (!file) return fail(ErrorCode::not_found);
  if (proof(*file).empty()) return SymbolFile{std::move(*file), cache_.path_of(key.cache_name())};
  cache_.remove(key.cache_name());
  return fail(ErrorCode::not_found);
}

Result<SymbolFile> SymbolFinder::find_on_servers(const SymbolKey& key, const Proof& proof) {
  Error error{ErrorCode::not_found, 0, 0};
  if (servers_.empty() || !asked_.insert(key.cache_name()).second) return fail(error);
  if (has_no_fetcher_ || asked_.size() > kMostQuestions || left_ <= Clock::duration::zero()) {
    if (!has_no_fetcher_) given_up_++;
    return fail(error);
  }
  for (Server& server : servers_) {
    for (const std::string& path : paths_on(server.place, key)) {
      if (server.is_given_up || has_no_fetcher_) break;
      if (left_ <= Clock::duration::zero()) {
        given_up_++;
        return fail(error);
      }
      auto found = fetch(server, path, key, proof);
      if (found) return found;
      if (found.error().code != ErrorCode::not_found) error = found.error();
    }
  }
  return fail(error);
}

Result<SymbolFile> SymbolFinder::fetch(Server& server, const std::string& path, const SymbolKey& key,
                                       const Proof& proof) {
  auto staged = cache_.stage();
  if (!staged) return fail(staged.error());
  const std::string url = server.place.where + "/" + path;
  FetchLimits limits = options_.limits;
  limits.total = std::min(limits.total, std::chrono::ceil<std::chrono::milliseconds>(left_));
  int write_error = 0;
  const auto begin = Clock::now();
  const auto end = fetcher_.get(url, limits, [&](std::span<const std::byte> bytes) {
    const bool is_written = staged->write(bytes);
    if (!is_written) write_error = errno;
    return is_written;
  });
  left_ -= Clock::now() - begin;
  if (end && end->outcome == FetchOutcome::done) return accept(*staged, url, key, proof);
  cache_.drop(*staged);
  if (!end) {
    has_no_fetcher_ = true;
    say(end.error());
  } else if (write_error != 0) {
    say({{ErrorCode::io_error, write_error, 0}, options_.cache, ""});
  } else {
    note(server, *end);
  }
  return fail(ErrorCode::not_found);
}

Result<SymbolFile> SymbolFinder::accept(const StagedFile& staged, const std::string& url, const SymbolKey& key,
                                        const Proof& proof) {
  auto file = staged.bytes();
  if (!file) {
    cache_.drop(staged);
    return fail(file.error());
  }
  if (const std::string wrong = proof(*file); !wrong.empty()) {
    cache_.drop(staged);
    say({{ErrorCode::mismatch, 0, 0}, url, "not used: " + wrong});
    return fail(ErrorCode::mismatch);
  }
  if (cache_.keep(staged, key.cache_name())) return SymbolFile{std::move(*file), cache_.path_of(key.cache_name())};
  return fetched_[key.cache_name()] = SymbolFile{std::move(*file), url};
}

/// Notes the failure of a server. "No such file" is none.
void SymbolFinder::note(Server& server, const FetchEnd& end) {
  std::string words = outcome_words(end);
  if (words.empty()) return;
  server.is_given_up = is_hopeless(end.outcome);
  if (end.outcome == FetchOutcome::refused && ++server.refusals >= kMostRefusals) server.is_given_up = true;
  if (is_hopeless(end.outcome)) words += "; it is not asked again";
  say({error_of(end), server.place.where, std::move(words)});
}

void SymbolFinder::say(Diagnosis diagnosis) {
  if (said_.size() < kMostSaid && std::find(said_.begin(), said_.end(), diagnosis) == said_.end())
    said_.push_back(std::move(diagnosis));
}

std::vector<Diagnosis> SymbolFinder::diagnoses() const {
  const std::lock_guard lock(mutex_);
  std::vector<Diagnosis> all = said_;
  if (cache_.refused().error.code != ErrorCode::none && !servers_.empty()) all.push_back(cache_.refused());
  if (given_up_ != 0)
    all.push_back({{ErrorCode::limit_exceeded, 0, given_up_},
                   "symbol servers",
                   "there was no time left for " + std::to_string(given_up_) + (given_up_ == 1 ? " file" : " files") +
                       ": mixstack symbols fetch waits longer"});
  return all;
}

}  // namespace mixstack::symbol_files
