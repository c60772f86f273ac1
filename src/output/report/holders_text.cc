// Holders of a heap as text: the largest lines of the tree, or the ways to what was asked for.
// Input: the answer of a search for holders. Output: text for a terminal, its names escaped.
// Algorithm: 1. the sums, and what was left out of them; 2. of the tree, lines by what they retain, the largest first,
// so that the largest holders are on the first screen however deep they lie; a root that holds one thing alone is one
// line with it; or 2. the ways to what was asked for, each from its root. Bounds: kMostLines lines of the tree,
// kMostPaths ways.
#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <unordered_set>

#include "output/report/escape.h"
#include "output/report/memory.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

constexpr std::size_t kMostLines = 18, kMostPaths = 6;
constexpr std::uint64_t kLeastShare = 100;  // of all that is held
constexpr std::uint64_t kLeastGaps = 20;    // a part of all objects

std::string megabytes(std::uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / 1e6); }

std::string_view root_words(RootKind kind) {
  switch (kind) {
    case RootKind::static_field:
      return "static";
    case RootKind::thread_static:
      return "thread static";
    case RootKind::thread_slots:
      return "statics of";
    case RootKind::strong_handle:
      return "strong handles";
    case RootKind::pinned_handle:
      return "pinned handles";
    case RootKind::async_pinned_handle:
      return "handles of asynchronous I/O";
    case RootKind::sized_handle:
      return "sized handles";
    case RootKind::counted_handle:
      return "counted handles";
    case RootKind::finalizer:
      return "finalizer queue (they wait for their finalizers)";
    case RootKind::stack:
      return "words of stacks, perhaps alive";
    case RootKind::local:
      return "variables of";
    default:
      return "";
  }
}

/// "static Shop.Cache.s_all"
std::string root_words(RootKind kind, const std::string& name) {
  return fmt::format("{}{}{}", root_words(kind), name.empty() ? "" : " ", escape_for_terminal(name));
}

/// "Shop.Worker.Run(), variable 'cache'"
std::string place_words(const StackPlace& place) {
  std::string words = place.method.empty() ? "the runtime's code" : escape_for_terminal(place.method);
  if (!place.variable.empty()) return words + ", variable '" + escape_for_terminal(place.variable) + "'";
  return words + (place.reg.empty() ? fmt::format(", slot {:#x}", place.slot) : ", register " + place.reg);
}

/// The first roots by name, and how many more.
std::string shared_words(const Holder& h) {
  constexpr std::size_t kMost = 3;
  if (h.roots.empty()) return "held by more than one root";
  std::string words;
  const std::size_t shown = std::min(kMost, h.roots.size());
  const std::uint64_t more = h.more_roots + h.roots.size() - shown;
  for (std::size_t i = 0; i < shown; i++) {
    const bool is_last = i + 1 == shown && more == 0 && h.are_roots_all;
    words += (i == 0 ? "" : is_last ? " and " : ", ") + root_words(h.roots[i].kind, h.roots[i].name);
  }
  if (more != 0) words += fmt::format(" and {} more{}", more, h.are_roots_all ? "" : " at least");
  if (more == 0 && !h.are_roots_all) words += " and perhaps others";
  return "held by " + words;
}

/// "serves GET /orders/7"
std::string request_words(const HolderRequest& r) {
  const char* does = r.kind == RequestKind::incoming ? "serves" : r.kind == RequestKind::outgoing ? "sends" : "asks";
  std::string words = fmt::format("{} {}", does, r.method.empty() ? "a request" : escape_for_terminal(r.method));
  return r.what.empty() ? words : words + " " + escape_for_terminal(r.what);
}

std::string methods_words(const std::vector<std::string>& methods, HolderShape shape) {
  std::string words;
  for (const std::string& m : methods) words += (words.empty() ? "" : ", ") + escape_for_terminal(m);
  if (words.empty()) return {};
  return (shape == HolderShape::delegate ? " calls " : ": ") + words;
}

constexpr std::string_view kAsync = " [async]";

/// The box of an async method says it worse than the method does.
bool is_async_method(const Holder& h) {
  const auto is_async = [](const std::string& m) { return std::string_view(m).ends_with(kAsync); };
  return h.shape == HolderShape::objects && h.methods.size() == 1 && is_async(h.methods.front());
}

std::string name_words(const Holder& h) {
  if (is_async_method(h)) {
    const std::string_view method = h.methods.front();
    const std::string name = escape_for_terminal(method.substr(0, method.size() - kAsync.size()));
    return h.count > 1 ? fmt::format("{} async methods {}", h.count, name) : "async method " + name;
  }
  const std::string name =
      h.name.empty() ? fmt::format("(type not known, object at {:#x})", h.largest) : escape_for_terminal(h.name);
  switch (h.shape) {
    case HolderShape::root:
      if (h.root == RootKind::stack && !h.name.empty()) return "of " + escape_for_terminal(h.name);
      return root_words(h.root, h.name);
    case HolderShape::list:
      return fmt::format("list of {} {}", h.count, name);
    case HolderShape::delegate:
      return fmt::format("{} of {} delegates", name, h.count);
    default:
      return h.count > 1 ? fmt::format("{} {}", h.count, name) : name;
  }
}

/// Whether a line says all that the only one below it does.
bool is_with_next(const Holder& h) {
  return h.shape == HolderShape::root && h.root != RootKind::stack && h.held.size() == 1 && h.rest == 0;
}

class Tree {
 public:
  explicit Tree(const HeapHolders& heap) : heap_(heap) {
    const auto smaller = [](const Holder* a, const Holder* b) { return a->retained < b->retained; };
    std::priority_queue<const Holder*, std::vector<const Holder*>, decltype(smaller)> next(smaller);
    const std::uint64_t least = (heap.held_bytes + heap.local_bytes + heap.stack_bytes) / kLeastShare;
    for (const Holder& h : heap.tree) next.push(&h);
    while (!next.empty() && shown_.size() < kMostLines) {
      const Holder* h = next.top();
      next.pop();
      if (h->retained < least && !shown_.empty()) break;
      shown_.insert(h);
      const Holder* last = h;
      if (is_with_next(*h)) last = &h->held.front();
      for (const Holder& below : last->held) next.push(&below);
    }
  }

  void write(Writer& out) const {
    out << fmt::format("{:>12}  holder\n", "retained MB");
    write_all(out, heap_.tree, 0);
    std::uint64_t rest = heap_.rest;
    for (const Holder& h : heap_.tree) rest += shown_.contains(&h) ? 0 : h.retained;
    if (rest != 0) out << fmt::format("{:>12}  held by others (--json has more of them)\n", megabytes(rest));
  }

 private:
  void write_all(Writer& out, const std::vector<Holder>& lines, std::size_t depth) const {
    for (const Holder& h : lines) {
      if (!shown_.contains(&h)) continue;
      const Holder* last = &h;
      std::string words = holder_words(h);
      if (is_with_next(h)) {
        last = &h.held.front();
        words += (last->place ? ", " : " = ") + holder_words(*last);
      }
      out << fmt::format("{:>12}  {:{}}{}\n", megabytes(h.retained), "", 2 * depth, words);
      write_all(out, last->held, depth + 1);
    }
  }

  const HeapHolders& heap_;
  std::unordered_set<const Holder*> shown_;
};

std::string step_words(const HolderStep& step) {
  std::string words;
  if (step.root != RootKind::none) {
    words = root_words(step.root, step.name);
  } else {
    words = step.field.empty() ? "" : "." + escape_for_terminal(step.field) + ": ";
    if (step.place) words = place_words(*step.place) + " = ";
    if (step.count > 1) words += fmt::format("{} ", step.count);
    words += step.name.empty() ? "(type not known)" : escape_for_terminal(step.name);
    if (!step.method.empty()) words += " (" + escape_for_terminal(step.method) + ")";
    if (step.request) words += ", " + request_words(*step.request);
    words += fmt::format("  {:#x}", step.object);
  }
  return words;
}

void write_paths(Writer& out, const HeapHolders& heap) {
  if (!heap.was_found) out << "nothing of that name or address is in the heap\n";
  for (std::size_t i = 0; i < std::min(heap.paths.size(), kMostPaths); i++) {
    const HolderPath& path = heap.paths[i];
    out << fmt::format("\n{}, {} MB, {} MB retained; held so:\n", counted(path.count, "object"), megabytes(path.own),
                       megabytes(path.retained));
    for (std::size_t depth = 0; depth < path.steps.size(); depth++)
      out << fmt::format("  {:{}}{}\n", "", std::min<std::size_t>(2 * depth, 40), step_words(path.steps[depth]));
    if (!path.holder_name.empty())
      out << "  all ways lead through: " << escape_for_terminal(path.holder_name)
          << (path.holder != 0 ? fmt::format("  {:#x}", path.holder) : "") << '\n';
  }
  const std::uint64_t more = heap.more_paths + (heap.paths.size() > kMostPaths ? heap.paths.size() - kMostPaths : 0);
  if (more != 0) out << fmt::format("\nand {} of other kinds (--json)\n", counted(more, "way"));
  if (heap.unheld != 0)
    out << fmt::format("{} are held by nobody{}\n", counted(heap.unheld, "object"),
                       heap.is_exact ? ": garbage that was not collected yet" : ", as far as all could be read");
}

}  // namespace

std::string holder_words(const Holder& holder) {
  std::string words = holder.field.empty() ? "" : "." + escape_for_terminal(holder.field) + ": ";
  words += name_words(holder);
  if (!is_async_method(holder)) words += methods_words(holder.methods, holder.shape);
  for (const HolderRequest& r : holder.requests) words += ", " + request_words(r);
  if (!holder.is_verified) words += " (not seen in the stop)";
  if (holder.place) words = place_words(*holder.place) + " = " + words;
  if (holder.root == RootKind::several) words += ", " + shared_words(holder);
  return words;
}

void write_holders_text(Writer& out, const HeapHolders& heap) {
  if (heap.tree.empty()) {
    out << "holders: not found: " << escape_for_terminal(heap.why_not) << '\n';
    return;
  }
  out << fmt::format("holders: {} MB in {} are held", megabytes(heap.held_bytes), counted(heap.held_objects, "object"));
  if (heap.local_objects != 0) out << fmt::format(", {} MB more by variables of threads", megabytes(heap.local_bytes));
  if (heap.stack_objects != 0) out << fmt::format(", {} MB more by words of stacks alone", megabytes(heap.stack_bytes));
  const std::uint64_t rest = heap.all_bytes - heap.held_bytes - heap.local_bytes - heap.stack_bytes;
  const char* of_rest = heap.is_exact ? "garbage that was not collected yet"
                        : heap.certainty == HoldersCertainty::read_twice
                            ? "garbage, or held by what has changed meanwhile"
                            : "garbage, or held by what could not be read";
  out << fmt::format("; {} MB are {}", megabytes(rest), of_rest);
  if (heap.gap_bytes > heap.all_bytes / kLeastGaps)
    out << fmt::format("; {} MB more are gaps between objects", megabytes(heap.gap_bytes));
  if (heap.certainty == HoldersCertainty::read_twice) {
    out << fmt::format(
        "\nread twice while it ran, {} that changed between are left out; {} of {} ways shown were seen in one stop, "
        "{}",
        counted(heap.changed_words, "word"), heap.chains_verified, heap.chains, duration_words(heap.pause));
  } else if (heap.stops != 0) {
    out << fmt::format("\nall of one moment, for which the process was stopped for {} ({} MB read in it)",
                       duration_words(heap.pause), megabytes(heap.copied_in_stop));
  }
  out << '\n';
  if (!heap.is_exact) out << "not certain: " << escape_for_terminal(heap.why_not) << '\n';
  if (!heap.asked.empty()) {
    write_paths(out, heap);
    return;
  }
  out << '\n';
  Tree(heap).write(out);
}

}  // namespace mixstack::report
