// Input: pages that are there before and after a time, labels of both moments, and events with their stacks.
// Output: the pages that came, each under one label and one site.
// Algorithm: 1. The calls that map memory, in their order, give each address its last owner. 2. Pages that came are
// those of `after` alone, and those whose address was mapped anew. 3. They are cut by the labels, by owners, and
// between sampled touches, half-way between two. 4. A piece is its owner's, if it is of a mapping made for one purpose;
// pools of an allocator are shared by many, and their pages are those of who used them first. Each stands in for the
// other. Order: owners, pages, labels, sites. Bounds: n log n of the events and ranges; a touch reaches kReach bytes
// and some periods of pages at most.
#include "features/memory/page_sites.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "features/memory/page_ranges.h"
#include "features/memory/site_names.h"

namespace mixstack::memory_use {
namespace {

using Kind = record::MemoryEvent::Kind;

constexpr std::uint64_t kReach = 2 << 20;  // a huge page
constexpr std::uint64_t kReachPeriods = 16;

bool is_managed(MemoryKind kind) {
  return kind == MemoryKind::gc_objects || kind == MemoryKind::gc_committed || kind == MemoryKind::gc_bookkeeping ||
         kind == MemoryKind::gc_other;
}
bool is_file(MemoryKind kind) {
  return kind == MemoryKind::file_assembly || kind == MemoryKind::file_program || kind == MemoryKind::file_other ||
         kind == MemoryKind::kernel;
}
/// Memory that one mapping holds for many users.
bool is_pool(MemoryKind kind) {
  return kind == MemoryKind::malloc_used || kind == MemoryKind::malloc_free || kind == MemoryKind::malloc_unwalked ||
         kind == MemoryKind::malloc_other || kind == MemoryKind::loader_heap || kind == MemoryKind::jit_code;
}

using LabelKey = std::pair<MemoryKind, std::string>;

class Joiner {
 public:
  Joiner(const NativeLook& look, const Recording& recording, NativeGrowth& out)
      : look_(look), recording_(recording), out_(out) {}

  void run() {
    find_owners();
    find_touches();
    const Ranges replaced = replaced_pages();
    const Ranges stayed = without(common(look_.before, look_.after), replaced);
    const Ranges came = without(look_.after, stayed), went = without(look_.before, stayed);
    out_.before = bytes_of(look_.before);
    out_.after = bytes_of(look_.after);
    out_.came = bytes_of(came);
    out_.went = bytes_of(went);
    sum_labels(look_.labels_before, look_.before, &NativeLabel::before);
    sum_labels(look_.labels_before, went, &NativeLabel::went);
    sum_labels(look_.labels_after, look_.after, &NativeLabel::after);
    sum_labels(look_.labels_after, came, &NativeLabel::came);
    for (const AddressRange& r : came)
      look_.labels_after.map.split(r, [&](AddressRange piece, RangeMap::Label l) { place(piece, label(l)); });
    add_mappers();
    finish();
  }

 private:
  struct Site {
    NativeSite out;
    std::map<LabelKey, std::uint64_t> labels;
    std::map<std::string, std::uint64_t> touchers, ways;
  };
  struct Touch {
    Address page = 0;
    std::size_t event = 0;
  };

  [[nodiscard]] const NativeEvent& event(std::size_t i) const { return look_.events[i]; }

  void find_owners() {
    order_.resize(look_.events.size());
    for (std::size_t i = 0; i < order_.size(); i++) order_[i] = i;
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return event(a).event.time_ns < event(b).event.time_ns; });
    Address last_break = look_.first_break;
    for (const std::size_t i : order_) {
      const record::MemoryEvent& e = event(i).event;
      if (e.kind == Kind::mapped) owners_.own(e.range, i);
      if (e.kind != Kind::broke) continue;
      const Address now = e.range.begin;
      if (last_break != 0 && now > last_break) owners_.own({last_break, now}, i);
      if (now < last_break) owners_.disown({now, last_break});
      last_break = now;
    }
  }

  /// By page, the last touch of each.
  void find_touches() {
    for (const std::size_t i : order_)
      if (event(i).event.kind == Kind::touched) touches_.push_back({event(i).event.range.begin, i});
    std::stable_sort(touches_.begin(), touches_.end(), [](const Touch& a, const Touch& b) { return a.page < b.page; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < touches_.size(); i++)
      if (i + 1 == touches_.size() || touches_[i + 1].page != touches_[i].page) touches_[kept++] = touches_[i];
    touches_.resize(kept);
  }

  /// Pages whose address was mapped after `before` had been read hold other memory now.
  [[nodiscard]] Ranges replaced_pages() const {
    Ranges anew;
    owners_.each([&](AddressRange r, std::size_t owner) {
      if (event(owner).event.kind == Kind::mapped && event(owner).event.time_ns > look_.before_ns) anew.push_back(r);
    });
    return joined(common(anew, common(look_.before, look_.after)), {});
  }

  [[nodiscard]] LabelKey key(const LabelledSpace& space, RangeMap::Label l) const {
    if (l == RangeMap::kNone || l >= space.labels.size()) return {MemoryKind::unknown, ""};
    return {space.labels[l].kind, space.labels[l].detail};
  }
  [[nodiscard]] LabelKey label(RangeMap::Label l) const { return key(look_.labels_after, l); }

  void sum_labels(const LabelledSpace& space, const Ranges& ranges, std::uint64_t NativeLabel::*sum) {
    for (const AddressRange& r : ranges)
      space.map.split(r, [&](AddressRange piece, RangeMap::Label l) {
        const LabelKey k = key(space, l);
        NativeLabel& one = labels_[k];
        one.label = {k.first, k.second};
        one.*sum += piece.size();
      });
  }

  void place(AddressRange piece, const LabelKey& label) {
    if (is_managed(label.first)) out_.managed += piece.size();
    if (is_file(label.first)) out_.files += piece.size();
    if (is_managed(label.first) || is_file(label.first)) return;
    owners_.split(piece, [&](AddressRange of_owner, std::optional<std::size_t> owner) {
      split_by_touches(of_owner,
                       [&](AddressRange part, std::optional<Touch> touch) { add(part, label, owner, touch); });
    });
  }

  /// Calls `use(part, touch)` for each part of a range; nothing: none is near.
  template <class Use>
  void split_by_touches(AddressRange range, Use&& use) const {
    const std::uint64_t reach = kReach + kReachPeriods * look_.period * look_.page_bytes;
    const Address page = look_.page_bytes;
    auto at = std::lower_bound(touches_.begin(), touches_.end(), range.begin,
                               [](const Touch& t, Address a) { return t.page < a; });
    if (at != touches_.begin()) --at;  // one before the range may be near, too
    for (; !range.empty(); ++at) {
      if (at == touches_.end()) return use(range, std::nullopt);
      const auto next = std::next(at);
      const Address from = at->page - std::min(at->page, reach);
      Address end = std::min(range.end, at->page + page + reach);
      if (next != touches_.end()) end = std::min(end, half_way(at->page + page, next->page));
      if (end <= range.begin) continue;
      if (from > range.begin) {
        const AddressRange far{range.begin, std::min(from & ~(page - 1), range.end)};
        if (!far.empty()) use(far, std::nullopt);
        range.begin = std::max(range.begin, far.end);
      }
      if (end > range.begin) use(AddressRange{range.begin, end}, *at);
      range.begin = std::max(range.begin, end);
    }
  }
  [[nodiscard]] Address half_way(Address a, Address b) const {
    return b <= a ? a : (a + (b - a) / 2) & ~(look_.page_bytes - 1);
  }

  void add(AddressRange part, const LabelKey& label, std::optional<std::size_t> owner, std::optional<Touch> touch) {
    const bool is_exact = touch && part == AddressRange{touch->page, touch->page + look_.page_bytes};
    // A reservation is mapped long before its pages are used.
    const bool is_owners = owner && (!touch || !is_pool(label.first));
    const auto by = is_owners ? owner : touch ? std::optional(touch->event) : std::nullopt;
    Site& site = site_of(by, is_owners ? SiteTie::mapped : SiteTie::touched);
    site.out.bytes += part.size();
    site.labels[label] += part.size();
    if (touch && !is_exact) site.out.near_bytes += part.size();
    if (by) {
      const std::uint64_t time = event(touch ? touch->event : *by).event.time_ns;
      const std::uint64_t middle = look_.begin_ns + (look_.end_ns - look_.begin_ns) / 2;
      site.out.halves[time < middle ? 0 : 1] += part.size();
    }
    if (by) site.ways[name_of(event(*by).stack).via] += part.size();
    if (is_owners && touch) site.touchers[name_of(event(touch->event).stack).place] += part.size();
  }

  const SiteName& name_of(std::uint32_t stack) {
    const auto known = names_.find(stack);
    if (known != names_.end()) return known->second;
    return names_.emplace(stack, site_name(recording_, stack)).first->second;
  }

  Site& site_of(std::optional<std::size_t> by, SiteTie tie) {
    // The way to the same call may change with tiers of compilation.
    SiteName name = by ? name_of(event(*by).stack) : SiteName{};
    const std::string via = std::exchange(name.via, {});
    Site& site = sites_[{name, tie}];
    site.out.tie = tie;
    site.out.place = name.place;
    site.out.caller = name.caller;
    if (site.out.via.empty()) site.out.via = via;
    return site;
  }

  /// Address space, with what has gone again.
  void add_mappers() {
    Ranges readable;
    for (const Region& r : look_.labels_after.regions)
      if (r.readable) readable.push_back(r.range);
    for (const std::size_t i : order_) {
      const record::MemoryEvent& e = event(i).event;
      if (e.kind != Kind::mapped || e.time_ns < look_.begin_ns) continue;
      Site& site = site_of(i, SiteTie::mapped);
      site.out.calls++;
      site.out.mapped_ever += e.range.size();
    }
    owners_.each([&](AddressRange r, std::size_t owner) {
      const record::MemoryEvent& e = event(owner).event;
      if (e.kind == Kind::mapped && e.time_ns >= look_.begin_ns)
        site_of(owner, SiteTie::mapped).out.mapped_now += bytes_in(readable, r);
    });
  }

  void finish() {
    const auto most = [](const auto& shares) {
      return std::max_element(shares.begin(), shares.end(),
                              [](const auto& a, const auto& b) { return a.second < b.second; });
    };
    for (auto& [name, site] : sites_) {
      if (const auto at = most(site.labels); at != site.labels.end())
        site.out.label = {at->first.first, at->first.second};
      if (const auto at = most(site.touchers); at != site.touchers.end() && at->first != site.out.place)
        site.out.toucher = at->first;
      if (const auto at = most(site.ways); at != site.ways.end()) site.out.via = at->first;
      out_.sites.push_back(std::move(site.out));
    }
    std::stable_sort(out_.sites.begin(), out_.sites.end(), [](const NativeSite& a, const NativeSite& b) {
      if (a.is_steady() != b.is_steady()) return a.is_steady();
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.mapped_ever > b.mapped_ever;
    });
    for (auto& [name, one] : labels_) out_.labels.push_back(std::move(one));
    std::stable_sort(out_.labels.begin(), out_.labels.end(),
                     [](const NativeLabel& a, const NativeLabel& b) { return a.came + a.went > b.came + b.went; });
  }

  const NativeLook& look_;
  const Recording& recording_;
  NativeGrowth& out_;
  std::vector<std::size_t> order_;  ///< of events, by time
  OwnerMap owners_;
  std::vector<Touch> touches_;
  std::map<LabelKey, NativeLabel> labels_;
  std::map<std::pair<SiteName, SiteTie>, Site> sites_;
  std::unordered_map<std::uint32_t, SiteName> names_;
};

}  // namespace

void join_pages(const NativeLook& look, const Recording& recording, NativeGrowth& out) {
  Joiner(look, recording, out).run();
}

}  // namespace mixstack::memory_use
