#include "output/report/why_slow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "output/report/escape.h"
#include "output/report/rate_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::array<std::string_view, kSlowKinds> kNames{"throttled", "crowded",    "contended",   "collections",
                                                          "memory",    "exceptions", "writes",      "disk",
                                                          "children",  "compiling",  "page_faults", "queue"};
constexpr std::array<std::string_view, kSlowKinds> kTitles{
    "THROTTLED",   "CROWDED", "CONTENDED", "GARBAGE COLLECTIONS", "MEMORY GROWS", "EXCEPTIONS",
    "TINY WRITES", "DISK",    "CHILDREN",  "COMPILING",           "PAGE FAULTS",  "QUEUE GROWS"};

std::size_t index_of(SlowKind kind) { return std::min<std::size_t>(static_cast<std::size_t>(kind), kSlowKinds - 1); }

/// A number as JSON has it: no infinity, no exponent.
std::string json_number(double value) {
  return std::isfinite(value) ? fmt::format("{:.4f}", value) : std::string("null");
}

void number_or_null(JsonObject& json, std::string_view name, const std::optional<double>& value) {
  json.key(name) << (value ? json_number(*value) : "null");
}

std::string rate_of(const std::optional<double>& rate, std::string_view one, std::string_view several) {
  if (!rate) return {};
  if (*rate < 0.05) return fmt::format("no {}", one);
  const std::string words = count_words(*rate);
  return fmt::format("{} {}/s", words == "1.0" && one == "exception" ? "1" : words, words == "1.0" ? one : several);
}

/// The work of the compiler that is over: worth a word where it took its time.
std::string start_words(const Health& health) {
  constexpr std::uint64_t kMany = 10'000;
  constexpr std::chrono::milliseconds kLong{2000};
  if (!health.all_methods || !health.all_compiling) return {};
  if (*health.all_methods < kMany && *health.all_compiling < kLong) return {};
  if (health.compiling.value_or(0) > 0.1) return {};
  return fmt::format("; since it began it compiled {} methods in {}", grouped(*health.all_methods),
                     duration_words(*health.all_compiling));
}

}  // namespace

std::string_view slow_kind_name(SlowKind kind) { return kNames[index_of(kind)]; }

std::string cause_words(const SlowCause& cause) {
  std::string text = cause.title.empty() ? std::string(kTitles[index_of(cause.kind)]) : cause.title;
  if (!cause.is_certain) text = "LIKELY " + text;
  text += ": " + escape_for_terminal(cause.what);
  if (!cause.place.empty())
    text +=
        fmt::format("; {}at {}", cause.place_of.empty() ? "" : cause.place_of + " ", escape_for_terminal(cause.place));
  return text;
}

std::string health_words(const Health& health) {
  std::vector<std::string> parts;
  if (health.processors) parts.push_back(fmt::format("{:.1f} processors", *health.processors));
  if (health.collections) {
    std::string words = rate_of(health.collections, "collection", "collections");
    if (health.pause_ms && *health.collections >= 0.05)
      words +=
          fmt::format(" ({} each)", duration_words(std::chrono::microseconds(std::llround(*health.pause_ms * 1e3))));
    parts.push_back(std::move(words));
  }
  if (health.lock_waiters == 0) {
    parts.emplace_back("no lock is waited for");
  } else {
    std::string words = counted(health.lock_waiters, "thread waits for a lock", "threads wait for locks");
    if (health.longest_lock_wait.count() >= 50)
      words += fmt::format(" ({} so far)", duration_words(health.longest_lock_wait));
    parts.push_back(std::move(words));
  }
  if (health.semaphore_waiters > 1)
    parts.push_back(counted(health.semaphore_waiters, "thread waits", "threads wait") + " for one semaphore");
  else if (health.all_semaphore_waiters > 1)
    parts.push_back(fmt::format("{} threads wait for semaphores", health.all_semaphore_waiters));
  if (health.queued)
    parts.push_back(*health.queued == 0 ? "no queue"
                                        : (health.has_more_queued ? "more than " : "") +
                                              counted(*health.queued, "item") + " in the queue");
  if (health.exceptions) parts.push_back(rate_of(health.exceptions, "exception", "exceptions"));
  return fmt::format("{}{}", fmt::join(parts, ", "), start_words(health));
}

void write_causes_text(Painter& out, std::span<const SlowCause> causes) {
  for (const SlowCause& cause : causes) {
    out.paint(cause.is_certain ? Ink::header : Ink::warning, cause_words(cause));
    out.plain() << '\n';
    for (const std::string& line : cause.more) out.plain() << "  " << escape_for_terminal(line) << '\n';
    if (!cause.change.empty()) out.plain() << "  usual change: " << escape_for_terminal(cause.change) << '\n';
    if (!cause.next.empty()) out.plain() << "  next: " << escape_for_terminal(cause.next) << '\n';
  }
  if (!causes.empty()) out.plain() << '\n';
}

void write_causes_json(Writer& out, std::span<const SlowCause> causes) {
  json_array(out, causes, "\n", [&](const SlowCause& cause) {
    JsonObject json(out);
    json.word("kind", slow_kind_name(cause.kind));
    json.boolean("certain", cause.is_certain);
    json.boolean("ends_itself", cause.ends_itself);
    json.key("share") << json_number(cause.share);
    json.text("text", cause_words(cause));
    json.text("what", cause.what);
    json.text_or_null("place", cause.place);
    json.text_or_null("place_of", cause.place_of);
    json.number("place_samples", cause.place_samples);
    json.number("samples", cause.samples);
    JsonObject facts(json.key("facts"));
    for (std::size_t i = 0; i < cause.facts.size(); i++) {
      const auto& [name, value] = cause.facts[i];
      const auto is_it = [&name = name](const SlowFact& f) { return f.first == name; };
      if (std::find_if(cause.facts.begin(), cause.facts.end(), is_it) ==
          cause.facts.begin() + static_cast<std::ptrdiff_t>(i))
        facts.key(name) << json_number(value);
    }
    facts.close();
    json_array(json.key("more"), cause.more, "", [&](const std::string& line) { out << json_string(line); });
    json.text_or_null("next", cause.next);
    json.text_or_null("change", cause.change);
    json.close();
  });
}

void write_health_json(Writer& out, const Health& health) {
  JsonObject json(out);
  json.text("text", health_words(health));
  json.number("time_ms", std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(health.time).count()});
  number_or_null(json, "processors", health.processors);
  number_or_null(json, "ready", health.ready);
  number_or_null(json, "collections_per_second", health.collections);
  number_or_null(json, "full_collections_per_second", health.full_collections);
  number_or_null(json, "pause_share", health.pause_share);
  number_or_null(json, "pause_ms", health.pause_ms);
  number_or_null(json, "allocated_bytes_per_second", health.allocated);
  number_or_null(json, "exceptions_per_second", health.exceptions);
  number_or_null(json, "methods_per_second", health.methods);
  number_or_null(json, "compiling", health.compiling);
  number_or_null(json, "contentions_per_second", health.contentions);
  health.all_methods ? json.number("methods", *health.all_methods) : json.null("methods");
  health.all_compiling ? json.number("compiling_ms", std::int64_t{health.all_compiling->count()})
                       : json.null("compiling_ms");
  json.number("lock_waiters", std::uint64_t{health.lock_waiters});
  json.number("semaphore_waiters", std::uint64_t{health.semaphore_waiters});
  json.number("longest_lock_wait_ms", std::int64_t{health.longest_lock_wait.count()});
  health.queued ? json.number("queued", *health.queued) : json.null("queued");
  json.boolean("has_more_queued", health.has_more_queued);
  json.close();
}

}  // namespace mixstack::report
