// Pending work of a dump (requests, async chains, thread pool, timers, GC, heap) as text, JSON and Graphviz.
// Input: the RuntimeSummary::pending of each runtime. Output: through a Painter or Writer.
// Algorithm:
//   - Text: requests, then chains that no thread waits for, grouped by their words, the most frequent first; then one
//     line each for pool, timers, collector and heap.
//   - JSON: every chain and request, one object per runtime.
//   - Graphviz: an edge from each waiting thread along its chain. A box is drawn once: where chains join, the rest of
//     the second one is shown already and is skipped.
// Bounds: text shows at most kMostGroups kinds of chains and kMostRequests requests; JSON has all that the dump has.
#include "output/report/why_pending.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "output/report/escape.h"
#include "output/report/pending_words.h"
#include "output/report/request_words.h"
#include "output/report/value_words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostGroups = 12;
constexpr std::size_t kMostRequests = 24;

/// Chains that no thread waits for, equal ones together, the most frequent first.
void write_chains(Painter& out, const ProcessDump& dump, const PendingWork& pending) {
  struct Group {
    std::size_t count = 0;
    const AsyncChain* first = nullptr;  ///< that is due first
    std::set<std::string> peers;        ///< of sockets
  };
  std::map<std::string, Group> groups;
  std::size_t all = 0;
  for (const AsyncChain& chain : pending.chains) {
    if (chain.waiter != 0) continue;
    all += chain.count;
    Group& g = groups[chain_words(dump, chain)];
    g.count += chain.count;
    if (!due_words(chain).empty() && chain.end != AsyncEnd::delay) g.peers.insert(chain.awaited.detail);
    if (g.first == nullptr || (chain.due && g.first->due && *chain.due < *g.first->due)) g.first = &chain;
  }
  if (groups.empty()) return;
  std::vector<const std::pair<const std::string, Group>*> sorted;
  sorted.reserve(groups.size());
  for (const auto& entry : groups) sorted.push_back(&entry);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->second.count > b->second.count; });
  out.paint(Ink::header, fmt::format("{}{} chain{} of async methods that no thread waits for:",
                                     pending.has_more_chains ? "more than " : "", all, all == 1 ? "" : "s"));
  out.plain() << '\n';
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostGroups); i++) {
    const Group& g = sorted[i]->second;
    out.plain() << fmt::format(
        "  {} x {}{}\n", g.count, sorted[i]->first,
        g.peers.size() > 1 ? fmt::format(" ({} other ends)", g.peers.size()) : due_words(*g.first));
    write_values(out, *g.first, g.count > 1);
  }
  if (sorted.size() > kMostGroups)
    out.plain() << fmt::format("  ... and {} more kinds (--json has all)\n", sorted.size() - kMostGroups);
}

void write_due(JsonObject& json, std::string_view key, const std::optional<std::chrono::milliseconds>& time) {
  if (time) {
    json.number(key, std::int64_t{time->count()});
  } else {
    json.null(key);
  }
}

void write_pool(Writer& out, const ThreadPool& pool) {
  JsonObject json(out);
  json.number("processing", std::int64_t{pool.processing});
  json.number("existing", std::int64_t{pool.existing});
  json.number("goal", std::int64_t{pool.goal});
  json.number("min", std::int64_t{pool.min});
  json.number("max", std::int64_t{pool.max});
  json.number("blocked", std::int64_t{pool.blocked});
  json.number("queued", std::uint64_t{pool.queued});
  json.boolean("has_more", pool.has_more);
  write_due(json, "since_dequeue_ms", pool.since_dequeue);
  json_array(json.key("work"), pool.work, "", [&](const QueuedWork& w) {
    JsonObject work(out);
    work.text("what", w.what);
    work.boolean("is_continuation", w.is_continuation);
    work.number("count", std::uint64_t{w.count});
    work.close();
  });
  const auto id = [&](ThreadId tid) { out.decimal(std::uint64_t{tid}); };
  json_array(json.key("busy"), pool.busy, "", id);
  json_array(json.key("idle"), pool.idle, "", id);
  json.close();
}

void write_gc(Writer& out, const GcState& gc, const std::optional<Suspension>& suspension) {
  JsonObject json(out);
  json.boolean("is_server", gc.is_server);
  json.number("heaps", std::uint64_t{gc.heaps});
  json.number("bytes", gc.bytes);
  if (gc.large_bytes) {
    json.number("large_bytes", *gc.large_bytes);
  } else {
    json.null("large_bytes");
  }
  json.boolean("is_walkable", gc.is_walkable);
  json.boolean("in_background", gc.in_background);
  if (gc.collections) {
    json.number("collections", *gc.collections);
  } else {
    json.null("collections");
  }
  json.number("finalizable", gc.finalizable);
  json.number("suspended_by", std::uint64_t{suspension ? suspension->by : 0});
  json.close();
}

void write_heap(Writer& out, const HeapScan& scan) {
  JsonObject json(out);
  json.number("bytes", scan.bytes);
  json.number("missing", scan.missing);
  json.number("suspended", scan.suspended);
  json.number("running", scan.running);
  json.boolean("has_more", scan.has_more);
  json.boolean("has_fsharp_async", scan.has_fsharp_async);
  json.number("fsharp_results", scan.fsharp_results);
  json.number("pause_us", std::int64_t{std::chrono::duration_cast<std::chrono::microseconds>(scan.pause).count()});
  json.number("stops", std::uint64_t{scan.stops});
  json.close();
}

void write_timers(Writer& out, const Timers& timers) {
  JsonObject json(out);
  json.number("count", std::uint64_t{timers.count});
  json.boolean("has_more", timers.has_more);
  json.number("delays", std::uint64_t{timers.delays});
  json.number("timeouts", std::uint64_t{timers.timeouts});
  write_due(json, "next_due_ms", timers.next_due);
  json.close();
}

void write_chain(Writer& out, const AsyncChain& chain) {
  JsonObject json(out);
  json.number("waiter", std::uint64_t{chain.waiter});
  json_array(json.key("steps"), chain.steps, "", [&](const AsyncStep& s) {
    JsonObject step(out);
    step.text("method", s.method);
    step.hex("box", s.box);
    step.number("state", std::int64_t{s.state});
    if (!s.values.empty())
      json_array(step.key("values"), s.values, "", [&](const ProgramValue& v) { write_value_json(out, v); });
    step.close();
  });
  json.word("end", to_string(chain.end));
  json.hex_or_null("awaited", chain.awaited.address);
  json.text_or_null("awaited_type", chain.awaited.type);
  if (chain.end == AsyncEnd::socket) json.text_or_null("peer", chain.awaited.detail);
  json.text_or_null("work", chain.work);
  json.word("proof", to_string(chain.proof));
  json.number("runner", std::uint64_t{chain.runner});
  json.text_or_null("context", chain.context);
  json.text_or_null("scheduler", chain.scheduler);
  json.boolean("is_queued", chain.is_queued);
  json.boolean("is_cut", chain.is_cut);
  json.boolean("gives_up", chain.gives_up);
  json.number("count", std::uint64_t{chain.count});
  write_due(json, "due_ms", chain.due);
  json.close();
}

void write_requests(Painter& out, const ProcessDump& dump, const PendingWork& pending) {
  if (pending.requests.empty()) return;
  out.plain() << "requests: " << requests_words(pending) << '\n';
  const auto tells = [](const Request& r) { return !r.what.empty(); };
  if (std::none_of(pending.requests.begin(), pending.requests.end(), tells)) return;
  for (std::size_t i = 0; i < std::min(pending.requests.size(), kMostRequests); i++)
    out.plain() << "  " << request_words(dump, pending, pending.requests[i]) << '\n';
  if (pending.requests.size() > kMostRequests)
    out.plain() << fmt::format("  ... and {} more (--json has all)\n", pending.requests.size() - kMostRequests);
}

}  // namespace

void write_values(Painter& out, const AsyncChain& chain, bool is_of_several) {
  bool is_first = true;
  for (const AsyncStep& step : chain.steps) {
    if (step.values.empty()) continue;
    std::string text = is_first && is_of_several ? "      of one: " : "      ";
    text += escape_for_terminal(short_method(step.method)) + ":";
    for (std::size_t i = 0; i < step.values.size(); i++)
      text += fmt::format("{} {} = {}", i == 0 ? "" : ",", escape_for_terminal(step.values[i].name),
                          short_value_words(step.values[i]));
    out.paint(Ink::faint, text + "\n");
    is_first = false;
  }
}

void write_pending_text(Painter& out, const ProcessDump& dump) {
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    write_requests(out, dump, *runtime.pending);
    write_chains(out, dump, *runtime.pending);
    if (runtime.pending->pool) out.plain() << "thread pool: " << pool_words(dump, *runtime.pending->pool) << '\n';
    if (runtime.pending->timers && runtime.pending->timers->count != 0)
      out.plain() << "timers: " << timer_words(*runtime.pending->timers) << '\n';
    if (runtime.pending->gc) out.plain() << "garbage collector: " << gc_words(dump, runtime) << '\n';
    if (runtime.pending->heap) out.plain() << "heap: " << heap_words(*runtime.pending->heap) << '\n';
    if (!runtime.pending->no_heap.empty())
      out.plain() << "Not known: the heap was not searched: " << escape_for_terminal(runtime.pending->no_heap) << '\n';
  }
}

void write_pending_json(JsonObject& json, Writer& out, const ProcessDump& dump) {
  std::vector<const RuntimeSummary*> all;
  for (const RuntimeSummary& runtime : dump.runtimes)
    if (runtime.pending) all.push_back(&runtime);
  json_array(json.key("pending"), all, "\n", [&](const RuntimeSummary* runtime) {
    const PendingWork* pending = &*runtime->pending;
    JsonObject of(out);
    if (pending->pool) {
      write_pool(of.key("pool"), *pending->pool);
    } else {
      of.null("pool");
    }
    if (pending->timers) {
      write_timers(of.key("timers"), *pending->timers);
    } else {
      of.null("timers");
    }
    if (pending->gc) {
      write_gc(of.key("gc"), *pending->gc, runtime->suspension);
    } else {
      of.null("gc");
    }
    if (pending->heap) {
      write_heap(of.key("heap"), *pending->heap);
    } else {
      of.null("heap");
    }
    of.text_or_null("no_heap", pending->no_heap);
    of.boolean("has_more_chains", pending->has_more_chains);
    json_array(of.key("chains"), pending->chains, "\n", [&](const AsyncChain& chain) { write_chain(out, chain); });
    of.boolean("has_more_requests", pending->has_more_requests);
    json_array(of.key("requests"), pending->requests, "\n", [&](const Request& r) { write_request_json(out, r); });
    of.close();
  });
}

void write_pending_dot(Writer& out, const ProcessDump& dump) {
  std::set<Address> shown;
  for (const RuntimeSummary& runtime : dump.runtimes) {
    if (!runtime.pending) continue;
    for (const AsyncChain& chain : runtime.pending->chains) {
      const bool is_cycle = chain.end == AsyncEnd::cycle;
      if ((chain.waiter == 0 && !is_cycle) || chain.steps.empty()) continue;
      std::string from = chain.waiter == 0 ? std::string() : fmt::format("t{}", chain.waiter);
      bool is_known = false;  // the rest of the chain is drawn already
      for (const AsyncStep& step : chain.steps) {
        const std::string to = fmt::format("m{:x}", step.box);
        if (!from.empty())
          out << fmt::format("  {} -> {} [label=\"{}\"];\n", from, to, from[0] == 't' ? "waits for" : "awaits");
        is_known = !shown.insert(step.box).second;
        if (is_known) break;
        out << fmt::format("  {} [shape=box, style=rounded, label={}];\n", to, json_string(short_method(step.method)));
        from = to;
      }
      if (is_known) continue;
      if (is_cycle) {
        out << fmt::format("  {} -> m{:x} [label=\"awaits\", color=red, penwidth=2];\n", from, chain.awaited.address);
      } else if (chain.runner != 0) {
        out << fmt::format("  {} -> t{} [style=dashed];\n", from, chain.runner);
      } else if (chain.awaited.address != 0) {
        out << fmt::format("  e{:x} [shape=ellipse, label={}];\n  {} -> e{:x} [label=\"awaits\"];\n",
                           chain.awaited.address, json_string(chain.awaited.type), from, chain.awaited.address);
      }
    }
  }
}

}  // namespace mixstack::report
