#include "output/report/why_busy.h"

#include <fmt/format.h>

#include <algorithm>

#include "output/report/escape.h"
#include "output/report/pending_words.h"
#include "output/report/wait_words.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostThreads = 3;   // of one function
constexpr std::size_t kMostUnmoved = 12;  // threads that are named

std::string share_words(std::uint64_t part, std::uint64_t all) {
  const double percent = all == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(all);
  return fmt::format("{:.0f} %", percent);
}

/// Kinds that there are samples of, the most frequent first.
std::vector<BusyKind> kinds_of(const Busyness& busy) {
  std::vector<BusyKind> kinds;
  for (std::size_t k = 0; k < kBusyKinds; k++)
    if (busy.kinds[k] != 0) kinds.push_back(static_cast<BusyKind>(k));
  std::stable_sort(kinds.begin(), kinds.end(), [&](BusyKind a, BusyKind b) { return busy.of(a) > busy.of(b); });
  return kinds;
}

std::string threads_words(const std::vector<BusyThread>& threads) {
  std::string text = threads.size() == 1 ? "thread" : fmt::format("{} threads:", threads.size());
  for (std::size_t i = 0; i < std::min(threads.size(), kMostThreads); i++) {
    const BusyThread& t = threads[i];
    text += fmt::format("{} {}", i == 0 ? "" : ",", t.tid);
    if (!t.name.empty()) text += fmt::format(" \"{}\"", escape_for_terminal(t.name));
  }
  if (threads.size() > kMostThreads) text += ", ...";
  return text;
}

void write_threads(Writer& out, const std::vector<BusyThread>& threads) {
  json_array(out, threads, "", [&](const BusyThread& t) {
    JsonObject thread(out);
    thread.number("tid", std::uint64_t{t.tid});
    thread.text_or_null("name", t.name);
    thread.number("samples", t.samples);
    thread.close();
  });
}

/// "Shop.Price(int)" as "Price".
std::string_view simple_name(std::string_view name) {
  name = name.substr(0, name.find('('));
  std::size_t dot = name.find_last_of('.');
  // Accessors are named behind their property.
  if (name.ends_with(".get") || name.ends_with(".set")) dot = dot == 0 ? dot : name.find_last_of('.', dot - 1);
  return dot == std::string_view::npos || dot + 1 == name.size() ? name : name.substr(dot + 1);
}

/// The method of the program with most of the samples, where it has half of them. Code of another kind was called by
/// it where most of that code's samples must be below it: they and its own are more than there are.
std::string main_method_words(const Busyness& busy, BusyKind most) {
  const bool is_its_own = most == BusyKind::program;
  const auto samples = [&](const BusyFunction& f) { return is_its_own ? f.self : f.total; };
  const BusyFunction* main = nullptr;
  for (const BusyFunction& f : busy.functions)
    if (f.kind == BusyKind::program && (main == nullptr || samples(f) > samples(*main))) main = &f;
  if (main == nullptr || samples(*main) * 2 < busy.samples) return {};
  if (!is_its_own) {
    // The innermost of those that most of the kind's samples must be below: the one with the fewest samples.
    const auto is_caller = [&](const BusyFunction& f) {
      return 2 * (f.total + busy.of(most)) >= 2 * busy.samples + busy.of(most);
    };
    for (const BusyFunction& f : busy.functions)
      if (f.kind == BusyKind::program && f.total < main->total && f.total * 20 >= main->total * 17 && is_caller(f))
        main = &f;
    return is_caller(*main) ? ", called by " + escape_for_terminal(main->name) : std::string();
  }
  std::string text = ": ";
  const std::string share = share_words(main->self, busy.samples);
  if (share != share_words(busy.of(most), busy.samples)) text += share + " in ";
  text += escape_for_terminal(main->name);
  if (!main->place.empty()) text += " in " + escape_for_terminal(main->place);
  const std::vector<std::string>& others = main->may_contain;
  for (std::size_t i = 0; i < others.size(); i++) {
    text += i == 0 ? ", with " : i + 1 == others.size() ? " and " : ", ";
    text += escape_for_terminal(simple_name(others[i]));
  }
  if (!others.empty()) text += ", which may be compiled into it";
  return text;
}

}  // namespace

std::string_view busy_kind_name(BusyKind kind) {
  constexpr std::string_view kNames[] = {"program",       "framework", "gc",     "jit",
                                         "lock_spinning", "runtime",   "native", "kernel"};
  return kNames[std::min<std::size_t>(static_cast<std::size_t>(kind), kBusyKinds - 1)];
}

std::string_view busy_kind_words(BusyKind kind) {
  switch (kind) {
    case BusyKind::program:
      return "methods of the program";
    case BusyKind::framework:
      return "code of .NET's libraries";
    case BusyKind::gc:
      return "garbage collections";
    case BusyKind::jit:
      return "compiling methods (JIT)";
    case BusyKind::lock_spinning:
      return "spinning for locks, events or work";
    case BusyKind::runtime:
      return "the runtime (allocations, casts, loading of types)";
    case BusyKind::native:
      return "native code";
    case BusyKind::kernel:
      break;
  }
  return "the kernel";
}

std::string busy_headline(const Busyness& busy) {
  if (!busy.is_busy()) return fmt::format("Not busy: {:.2f} processors", busy.processors());
  const BusyKind most = kinds_of(busy).front();
  std::string text = fmt::format(
      "BUSY: {:.1f} processors, {} {}{}", std::max(busy.processors(), 0.1), share_words(busy.of(most), busy.samples),
      most == BusyKind::jit || most == BusyKind::lock_spinning ? "" : "in ", busy_kind_words(most));
  if (most == BusyKind::program || busy.caller.empty()) return text + main_method_words(busy, most);
  if (most == BusyKind::native && !busy.library.empty()) text += ": " + escape_for_terminal(busy.library);
  if (!busy.caller.empty()) text += ", called by " + escape_for_terminal(busy.caller);
  return text;
}

void write_busy_text(Painter& out, const Busyness& busy) {
  out.paint(Ink::header, busy_headline(busy));
  out.plain() << '\n';
  const auto kinds = kinds_of(busy);
  for (std::size_t i = 1; i < kinds.size(); i++)
    if (busy.of(kinds[i]) * 100 >= busy.samples)
      out.plain() << fmt::format("  {:>5} {}\n", share_words(busy.of(kinds[i]), busy.samples),
                                 busy_kind_words(kinds[i]));
  if (busy.is_busy() && !busy.functions.empty()) out.plain() << "   self   total\n";
  for (const BusyFunction& f : busy.functions) {
    if (!busy.is_busy()) break;
    out.plain() << fmt::format("  {:>5}  {:>6}  ", share_words(f.self, busy.samples),
                               share_words(f.total, busy.samples));
    out.paint(f.kind == BusyKind::program ? Ink::user : Ink::plain, escape_for_terminal(f.name));
    if (!f.place.empty()) out.plain() << " in " << escape_for_terminal(f.place);
    out.plain() << fmt::format("  ({})\n", threads_words(f.threads));
  }
  out.plain() << fmt::format("  {} in {} by {}{}\n", counted(busy.samples, "sample"),
                             duration_words(std::chrono::nanoseconds(busy.duration_ns)), busy.source,
                             busy.lost == 0 ? "" : fmt::format(", {} lost", busy.lost));
  for (const std::string& note : busy.notes) out.plain() << "  Note: " << escape_for_terminal(note) << '\n';
  out.plain() << '\n';
}

void write_busy_json(Writer& out, const Busyness& busy) {
  JsonObject json(out);
  json.boolean("is_busy", busy.is_busy());
  json.number("duration_ms", busy.duration_ns / 1'000'000);
  json.number("cpu_ms", busy.cpu_ns / 1'000'000);
  json.number("samples", busy.samples);
  json.number("lost", busy.lost);
  json.text("source", busy.source);
  json.text_or_null("library", busy.library);
  json.text_or_null("caller", busy.caller);
  json_array(json.key("notes"), busy.notes, "", [&](const std::string& note) { out << json_string(note); });
  JsonObject kinds(json.key("kinds"));
  for (std::size_t k = 0; k < kBusyKinds; k++) kinds.number(busy_kind_name(static_cast<BusyKind>(k)), busy.kinds[k]);
  kinds.close();
  json_array(json.key("functions"), busy.functions, "\n", [&](const BusyFunction& f) {
    JsonObject function(out);
    function.text("name", f.name);
    function.text_or_null("place", f.place);
    function.word("kind", busy_kind_name(f.kind));
    function.number("self", f.self);
    function.number("total", f.total);
    write_threads(function.key("threads"), f.threads);
    json_array(function.key("may_contain"), f.may_contain, "",
               [&](const std::string& name) { out << json_string(name); });
    function.close();
  });
  write_threads(json.key("threads"), busy.threads);
  json.close();
}

void write_unmoved_text(Painter& out, const ProcessDump& dump, const Unmoved& unmoved) {
  const auto held = std::count(unmoved.verdicts.begin(), unmoved.verdicts.end(), true);
  out.paint(Ink::header, fmt::format("Since the answer before, {} ago: ", coarse_duration_words(unmoved.since)));
  if (!unmoved.verdicts.empty())
    out.plain() << fmt::format("{} of {} verdict{} still hold{}; ", held, unmoved.verdicts.size(),
                               unmoved.verdicts.size() == 1 ? "" : "s", unmoved.verdicts.size() == 1 ? "s" : "");
  out.plain() << fmt::format("{} of {} threads that wait have not moved", unmoved.threads.size(),
                             unmoved.threads.size() + unmoved.moved);
  for (std::size_t i = 0; i < std::min(unmoved.threads.size(), kMostUnmoved); i++)
    out.plain() << (i == 0 ? ": " : ", ") << thread_words(dump, unmoved.threads[i]);
  if (unmoved.threads.size() > kMostUnmoved)
    out.plain() << fmt::format(" and {} more", unmoved.threads.size() - kMostUnmoved);
  out.plain() << '\n';
}

void write_unmoved_json(Writer& out, const Unmoved& unmoved) {
  JsonObject json(out);
  json.number("since_ms", std::int64_t{unmoved.since.count()});
  json_array(json.key("threads"), unmoved.threads, "", [&](ThreadId id) { out.decimal(std::uint64_t{id}); });
  json.number("moved", std::uint64_t{unmoved.moved});
  json_array(json.key("verdicts"), unmoved.verdicts, "", [&](bool held) { out << (held ? "true" : "false"); });
  json.close();
}

}  // namespace mixstack::report
