#include "output/report/request_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "output/report/escape.h"
#include "output/report/json_fields.h"
#include "output/report/pending_words.h"
#include "output/report/wait_words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostMethods = 6;

std::string kind_words(RequestKind kind, std::size_t count) {
  switch (kind) {
    case RequestKind::incoming:
      return fmt::format("{} request{} in flight", count, count == 1 ? "" : "s");
    case RequestKind::outgoing:
      return fmt::format("{} call{} by HttpClient", count, count == 1 ? "" : "s");
    case RequestKind::database:
      break;
  }
  return fmt::format("{} database command{}", count, count == 1 ? "" : "s");
}

/// "2 GET, 1 POST", the most frequent first.
std::string method_words(const std::map<std::string, std::size_t>& methods) {
  std::vector<std::pair<std::string, std::size_t>> sorted(methods.begin(), methods.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostMethods); i++)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", sorted[i].second,
                        sorted[i].first.empty() ? "of unknown kind" : escape_for_terminal(sorted[i].first));
  if (sorted.size() > kMostMethods) text += fmt::format(" and {} other kinds", sorted.size() - kMostMethods);
  return text;
}

/// Most of a chain are methods of libraries: its beginning and its end say which it is.
std::string in_chain(const ProcessDump& dump, const AsyncChain& chain) {
  constexpr std::size_t kLast = 2;
  if (chain.steps.size() <= kLast + 1) return chain_words(dump, chain);
  AsyncChain end = chain;
  end.steps.erase(end.steps.begin(), end.steps.end() - kLast);
  return escape_for_terminal(short_method(chain.steps.front().method)) + " > ... > " + chain_words(dump, end);
}

}  // namespace

std::string requests_words(const PendingWork& pending) {
  std::map<RequestKind, std::map<std::string, std::size_t>> by_kind;
  for (const Request& r : pending.requests) by_kind[r.kind][r.method]++;
  std::string text;
  for (const auto& [kind, methods] : by_kind) {
    std::size_t count = 0;
    for (const auto& [method, n] : methods) count += n;
    text += (text.empty() ? "" : "; ") + kind_words(kind, count) + ": " + method_words(methods);
  }
  if (pending.has_more_requests) text += "; and more";
  return text;
}

std::string request_words(const ProcessDump& dump, const PendingWork& pending, const Request& request) {
  std::string text = request.method.empty() ? "?" : escape_for_terminal(request.method);
  if (!request.what.empty())
    text += (request.kind == RequestKind::database ? ": " : " ") + escape_for_terminal(request.what);
  const bool has_chain = request.chain != 0 && request.chain <= pending.chains.size();
  const AsyncChain* chain = has_chain ? &pending.chains[request.chain - 1] : nullptr;
  // A thread that waits for the methods which work on it does nothing of it itself.
  const bool waits =
      chain != nullptr && request.thread != 0 && chain->waiter == request.thread && chain->runner != request.thread;
  if (request.thread != 0 && !waits) {
    text += " on thread " + thread_words(dump, request.thread);
  } else if (chain != nullptr) {
    if (const std::string in = in_chain(dump, *chain); !in.empty()) text += " in " + in + due_words(*chain);
    if (waits) text += ", for which thread " + thread_words(dump, request.thread) + " waits";
  }
  if (request.age) text += ", for " + coarse_duration_words(*request.age);
  return text;
}

void write_request_json(Writer& out, const Request& request) {
  JsonObject object(out);
  object.word("kind", to_string(request.kind));
  object.text_or_null("method", request.method);
  object.hex_or_null("object", request.object);
  object.number("thread", std::uint64_t{request.thread});
  request.chain == 0 ? object.null("chain") : object.number("chain", std::uint64_t{request.chain - 1});
  object.text_or_null("what", request.what);
  request.age ? object.number("age_ms", std::int64_t{request.age->count()}) : object.null("age_ms");
  object.close();
}

}  // namespace mixstack::report
