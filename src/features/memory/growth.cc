// Input: two moments, and what full collections have left between them where that was seen. Output: what grew.
// Algorithm: lines of the account match by kind and detail, types by name (of one process without a name by their
// MethodTable), those of all runtimes together. A line of only one moment was nothing in the other. The rate for the
// limit is that of what the kernel cannot drop: resident and swapped, without files.
// Order: labels by growth; types by what full collections have left, where known, then by growth.
// Bounds: linear in both moments, and sorting.
#include "features/memory/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace mixstack::memory_use {
namespace {

GrowthSide side_of(const MemoryMoment& m) { return {m.pid, m.name, m.core_path, m.mark}; }

bool is_same(const MemoryMoment& a, const MemoryMoment& b) {
  // Cores do not say when their process began: their pids must do.
  const bool knows_starts = a.mark.started != 0 && b.mark.started != 0;
  if (a.pid != b.pid || (knows_starts && a.mark.started != b.mark.started)) return false;
  return a.mark.host.empty() || b.mark.host.empty() || a.mark.host == b.mark.host;
}

std::optional<std::chrono::nanoseconds> time_between(const MomentMark& a, const MomentMark& b) {
  if (a.taken_unix_ns == 0 || b.taken_unix_ns <= a.taken_unix_ns) return std::nullopt;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(b.taken_unix_ns - a.taken_unix_ns));
}

std::vector<LabelGrowth> labels_of(const MemoryAccount& before, const MemoryAccount& after) {
  std::map<std::pair<MemoryKind, std::string>, LabelGrowth> all;
  const auto at = [&](const MemoryLine& l) -> LabelGrowth& {
    LabelGrowth& g = all[{l.kind, l.detail}];
    g.kind = l.kind;
    g.detail = l.detail;
    return g;
  };
  for (const MemoryLine& l : before.lines) at(l).before += l.resident;
  for (const MemoryLine& l : after.lines) at(l).after += l.resident;
  std::vector<LabelGrowth> out;
  out.reserve(all.size());
  for (auto& [key, growth] : all) out.push_back(std::move(growth));
  std::stable_sort(out.begin(), out.end(),
                   [](const LabelGrowth& a, const LabelGrowth& b) { return a.grown() > b.grown(); });
  return out;
}

/// Types of both moments, by name.
class Types {
 public:
  explicit Types(bool is_same_process) : is_same_process_(is_same_process) {}

  void add(const std::vector<HeapTypes>& heaps, bool is_after) {
    for (const HeapTypes& heap : heaps)
      for (const TypeCount& t : heap.types) {
        TypeGrowth& g = at(t, is_after);
        (is_after ? g.objects_after : g.objects_before) += t.all();
        (is_after ? g.bytes_after : g.bytes_before) += t.all_bytes();
        (is_after ? g.old_after : g.old_before) += t.all_bytes() - t.bytes[0] - t.bytes[1];
      }
  }

  void add_kept(const KeptObjects& kept) {
    for (auto& [key, growth] : all_) growth.kept = TypeGrowth::Kept{};
    for (const bool is_after : {false, true})
      for (const HeapTypes& heap : is_after ? kept.last : kept.first)
        for (const TypeCount& t : heap.types) {
          const auto it = all_.find(key_of(t, is_after));
          if (it == all_.end()) continue;
          TypeGrowth::Kept& k = *it->second.kept;
          (is_after ? k.objects_after : k.objects_before) += t.all();
          (is_after ? k.bytes_after : k.bytes_before) += t.all_bytes();
        }
  }

  std::vector<TypeGrowth> take() {
    std::vector<TypeGrowth> out;
    for (auto& [key, growth] : all_) out.push_back(std::move(growth));
    // Gaps are no objects that are held: they stand where their bytes put them.
    const auto order = [](const TypeGrowth& g) {
      return std::tuple(g.is_free ? 0 : std::max<std::int64_t>(g.kept_grown(), 0), g.grown());
    };
    std::stable_sort(out.begin(), out.end(),
                     [&](const TypeGrowth& a, const TypeGrowth& b) { return order(a) > order(b); });
    return out;
  }

 private:
  using Key = std::tuple<bool, std::string, Address>;

  /// Without a name, MethodTables of different processes never match.
  [[nodiscard]] Key key_of(const TypeCount& t, bool is_after) const {
    if (t.is_free || !t.type.empty()) return {t.is_free, t.type, 0};
    return {false, is_same_process_ || !is_after ? "" : "after", t.method_table};
  }
  TypeGrowth& at(const TypeCount& t, bool is_after) {
    TypeGrowth& g = all_[key_of(t, is_after)];
    g.type = t.type;
    g.is_free = t.is_free;
    g.method_table = t.method_table;
    return g;
  }

  bool is_same_process_;
  std::map<Key, TypeGrowth> all_;
};

std::uint64_t not_dropped(const MemoryAccount& a) {
  std::uint64_t bytes = a.swapped;
  for (const MemoryLine& l : a.lines) {
    const bool is_file = l.kind == MemoryKind::file_assembly || l.kind == MemoryKind::file_program ||
                         l.kind == MemoryKind::file_other || l.kind == MemoryKind::kernel;
    if (!is_file) bytes += l.resident;
  }
  return bytes;
}

std::optional<LimitForecast> forecast_of(const MemoryGrowth& growth, const MemoryAccount& before,
                                         const MemoryAccount& after) {
  if (!after.limit || !after.used_of_limit || !growth.between || !growth.is_same_process) return std::nullopt;
  LimitForecast f;
  f.limit = *after.limit;
  f.used = *after.used_of_limit;
  const double seconds = std::chrono::duration<double>(*growth.between).count();
  f.bytes_a_second = (static_cast<double>(not_dropped(after)) - static_cast<double>(not_dropped(before))) / seconds;
  constexpr double kLeastRate = 100, kMostSeconds = 86400.0 * 365;
  const double left = static_cast<double>(f.limit - std::min(f.limit, f.used)) / std::max(f.bytes_a_second, kLeastRate);
  if (f.bytes_a_second >= kLeastRate && left < kMostSeconds)
    f.left = std::chrono::seconds(static_cast<std::int64_t>(left));
  return f;
}

/// Numbers that go down are of another process.
std::vector<std::uint64_t> collections_between(const MomentMark& a, const MomentMark& b) {
  if (a.runtimes.empty() || a.runtimes.size() != b.runtimes.size()) return {};
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < a.runtimes.size(); i++) {
    const auto &first = a.runtimes[i].collections, &second = b.runtimes[i].collections;
    if (first.empty() || first.size() != second.size()) return {};
    out.resize(std::max(out.size(), first.size()));
    for (std::size_t g = 0; g < first.size(); g++) {
      if (second[g] < first[g]) return {};
      out[g] += second[g] - first[g];
    }
  }
  return out;
}

void say_what_is_not_exact(const MemoryMoment& moment, const char* which, MemoryGrowth& out) {
  for (const HeapTypes& h : moment.heaps) {
    if (h.is_exact) continue;
    out.is_exact = false;
    if (out.why_not.empty()) out.why_not = fmt::format("of the {} moment: {}", which, h.why_not);
  }
}

bool has_types(const MemoryMoment& m) {
  return !m.heaps.empty() &&
         std::all_of(m.heaps.begin(), m.heaps.end(), [](const HeapTypes& h) { return !h.types.empty(); });
}

/// Commands that tell more of its cause.
void add_next(MemoryGrowth& g) {
  if (!g.is_same_process || !g.after.core_path.empty()) return;
  const auto say = [&](const char* format, std::string why) {
    g.next.push_back({fmt::format(fmt::runtime(format), g.after.pid), std::move(why)});
  };
  const LabelGrowth* const most = g.labels.empty() || g.labels.front().grown() <= 0 ? nullptr : &g.labels.front();
  if (most == nullptr) return;
  switch (most->kind) {
    case MemoryKind::gc_objects:
      if (!g.has_types) say("mixstack memory {} --types --after 60s", "the types that grow");
      say("mixstack memory {} --holders", "who holds the objects");
      say("mixstack memory {} --makers", "who makes them");
      say("mixstack why {}", "how much is allocated, and what collections leave");
      break;
    case MemoryKind::malloc_used:
    case MemoryKind::malloc_large:
    case MemoryKind::malloc_other:
      say("mixstack record -p {} -m faults -d 10 -o faults.html", "where new memory is first used");
      break;
    case MemoryKind::gc_committed:
    case MemoryKind::gc_other:
      say("mixstack why {}", "how often it collects, and why");
      break;
    case MemoryKind::stack:
      say("mixstack dump {} --merge", "the threads, those with equal stacks once");
      break;
    case MemoryKind::loader_heap:
    case MemoryKind::jit_code:
    case MemoryKind::runtime_stubs:
      say("mixstack why {}", "what is compiled");
      break;
    default:
      break;
  }
}

}  // namespace

MemoryGrowth growth_between(const MemoryMoment& before, const MemoryMoment& after, const KeptObjects* kept) {
  MemoryGrowth g;
  g.before = side_of(before);
  g.after = side_of(after);
  g.is_same_process = is_same(before, after);
  g.between = time_between(before.mark, after.mark);
  g.has_account = before.account && after.account;
  if (g.has_account) {
    g.resident_before = before.account->resident;
    g.resident_after = after.account->resident;
    g.swapped_before = before.account->swapped;
    g.swapped_after = after.account->swapped;
    g.labels = labels_of(*before.account, *after.account);
    g.forecast = forecast_of(g, *before.account, *after.account);
  }
  if (g.is_same_process) g.collections = collections_between(before.mark, after.mark);
  g.has_types = has_types(before) && has_types(after);
  g.is_exact = g.has_types;
  say_what_is_not_exact(before, "first", g);
  say_what_is_not_exact(after, "second", g);
  if (g.has_types) {
    Types types(g.is_same_process);
    types.add(before.heaps, false);
    types.add(after.heaps, true);
    if (kept != nullptr && kept->collections != 0) {
      types.add_kept(*kept);
      g.kept_seen = kept->collections;
    }
    g.types = types.take();
  }
  add_next(g);
  return g;
}

}  // namespace mixstack::memory_use
