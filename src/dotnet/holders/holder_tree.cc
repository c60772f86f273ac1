// Folds a dominator tree into lines.
//
// Input: dominators with retained sizes. Output: nested lines, most bytes first.
// Algorithm: a line stands for a group of places: the same holder line, the same type. Its own groups are what these
// places hold, without what is folded into the line itself: objects of the same type (a list), parts of a collection,
// the delegates of a delegate. Lines are opened in the order of what they retain, the largest first.
// Bounds: kMostLines lines, kMostHeld right below one; opening a line looks at each place below it that is folded into
// it once, so that all of it takes at most as many steps as there are places for each level. No recursion over objects.
#include "dotnet/holders/holder_tree.h"

#include <algorithm>
#include <map>

namespace mixstack::dotnet::holders {
namespace {

constexpr std::uint64_t kRootKey = std::uint64_t{1} << 32;
constexpr std::uint64_t kLeastShare =
    200;  // of the heap that is held: smaller lines are left out below the first level

}  // namespace

void HolderTree::Sample::add(std::uint32_t place) {
  if (count_++ % step_ != 0) return;
  if (some_.size() == kMostAsked) {
    for (std::size_t i = 0; i < kMostAsked / 2; i++) some_[i] = some_[2 * i];
    some_.resize(kMostAsked / 2);
    step_ *= 2;
    if ((count_ - 1) % step_ != 0) return;
  }
  some_.push_back(place);
}

std::uint64_t HolderTree::key_of(std::uint32_t place) const {
  return heap_.is_object(place) ? heap_.type(place) : kRootKey + place;
}

void HolderTree::group(std::uint32_t place, Line& line) const { line.groups[key_of(place)].push_back(place); }

bool HolderTree::is_part(const TypeWords& outer, std::uint32_t outer_type, std::uint32_t place, std::uint32_t parent,
                         unsigned depth) {
  if (!heap_.is_object(place)) return false;
  const std::uint32_t type = heap_.type(place);
  if (type == outer_type && outer.use != TypeUse::array) return true;
  if (outer.use != TypeUse::collection && outer.use != TypeUse::delegate) return false;
  return words_.is_inside(outer, words_.type(type), words_.type(heap_.type(parent)), depth);
}

/// Everything that is folded into a line of these places; groups of what they hold.
void HolderTree::gather(const Places& places, Line& line) {
  if (!heap_.is_object(places.front())) {
    for (const std::uint32_t p : places)
      for (const std::uint32_t below : heap_.held(p)) group(below, line);
    return;
  }
  const std::uint32_t type = heap_.type(places.front());
  const TypeWords outer = words_.type(type);
  Places now, next;
  Sample alike;
  const Places* level = &places;
  for (unsigned depth = 0; !level->empty(); depth++) {
    next.clear();
    for (const std::uint32_t p : *level) {
      line.told.own += heap_.size(p);
      if (heap_.type(p) == type) alike.add(p);
      for (const std::uint32_t below : heap_.held(p)) {
        if (is_part(outer, type, below, p, depth)) {
          next.push_back(below);
        } else {
          group(below, line);
        }
      }
    }
    now.swap(next);
    level = &now;
  }
  line.told.count = alike.count();
  line.told.shape = HolderShape::objects;
  if (outer.use == TypeUse::collection) line.told.shape = HolderShape::collection;
  if (line.told.shape == HolderShape::collection) line.told.count = places.size();
  if (outer.use == TypeUse::delegate && alike.count() > places.size()) {
    line.told.shape = HolderShape::delegate;
    line.told.count = alike.count() - places.size();
  }
  if (line.told.shape == HolderShape::objects && alike.count() > places.size()) line.told.shape = HolderShape::list;
  describe(places, alike, line);
}

void HolderTree::describe(const Places& places, const Sample& alike, Line& line) {
  const std::uint32_t largest = *std::max_element(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    return heap_.retained(a) < heap_.retained(b);
  });
  line.told.largest = heap_.address(largest);
  const std::uint32_t type = heap_.type(largest), holder = heap_.above(largest);
  const TypeWords& words = words_.type(type);
  line.told.name = words.name;
  if (heap_.is_object(holder))
    line.told.field = words_.field(heap_.type(holder), heap_.address(holder), heap_.size(holder), line.told.largest);
  if (heap_.root(holder) != nullptr)
    if (const StackPlace* place = heap_.place_of(heap_.node(holder), heap_.node(largest))) line.told.place = *place;
  if (words.use != TypeUse::delegate && words.use != TypeUse::timer && words.use != TypeUse::async) return;
  if (words.use == TypeUse::async) find_requests(type, alike, line);
  find_methods(type, places, alike, line);
}

/// By a sample, where there are many.
void HolderTree::find_requests(std::uint32_t type, const Sample& alike, Line& line) {
  auto& requests = line.told.requests;
  const Places& some = alike.some();
  const std::size_t step = some.size() / kMostServing + 1;
  for (std::size_t i = 0; i < some.size() && requests.size() < kMostMethods; i += step) {
    auto request = words_.request(type, heap_.address(some[i]));
    if (request && std::find(requests.begin(), requests.end(), *request) == requests.end())
      requests.push_back(std::move(*request));
  }
}

void HolderTree::find_methods(std::uint32_t type, const Places& places, const Sample& alike, Line& line) {
  std::map<std::string, std::size_t> methods;
  const bool is_many = words_.type(type).use == TypeUse::delegate && alike.count() > places.size();
  for (const std::uint32_t place : alike.some()) {
    if (is_many && std::binary_search(places.begin(), places.end(), place)) continue;  // it calls its list
    std::string method = words_.method(type, heap_.address(place));
    if (!method.empty()) methods[std::move(method)]++;
  }
  std::vector<std::pair<std::size_t, std::string>> most;
  most.reserve(methods.size());
  for (const auto& [method, count] : methods) most.emplace_back(count, method);
  std::sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < std::min(most.size(), kMostMethods); i++)
    line.told.methods.push_back(std::move(most[i].second));
}

std::unique_ptr<HolderTree::Line> HolderTree::line_of(const Places& places, bool is_first_level) {
  auto line = std::make_unique<Line>();
  for (const std::uint32_t p : places) line->told.retained += heap_.retained(p);
  if (const RootNode* root = heap_.root(places.front()); root != nullptr) {
    line->told.shape = HolderShape::root;
    line->told.root = root->kind;
    line->told.name = root->name;
  } else if (!heap_.is_object(places.front())) {
    line->told.shape = HolderShape::root;
    line->told.root = RootKind::stack;
  } else if (is_first_level) {
    line->told.root = RootKind::several;
  }
  gather(places, *line);
  if (line->told.root == RootKind::several) name_roots(places, *line);
  lines_++;
  return line;
}

/// For the largest ones alone: the first level is made with the largest first.
void HolderTree::name_roots(const Places& places, Line& line) {
  if (shared_ == kMostShared || line.told.retained < heap_.retained(0) / kLeastShare) {
    line.told.are_roots_all = false;
    return;
  }
  shared_++;
  const SharedRoots::Found found = roots_of_(places);
  line.told.are_roots_all = found.is_whole;
  for (std::size_t i = 0; i < std::min(found.roots.size(), kMostRoots); i++)
    if (const RootNode* root = heap_.root_of(found.roots[i])) line.told.roots.push_back({root->kind, root->name});
  line.told.more_roots = found.roots.size() - line.told.roots.size();
}

void HolderTree::open(Line& line, bool is_first_level) {
  std::vector<std::pair<std::uint64_t, Places>> groups;
  for (auto& [key, places] : line.groups) {
    std::uint64_t retained = 0;
    for (const std::uint32_t p : places) retained += heap_.retained(p);
    std::sort(places.begin(), places.end());
    groups.emplace_back(retained, std::move(places));
  }
  line.groups.clear();
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second.front() < b.second.front();
  });
  const std::uint64_t least = heap_.places() == 0 ? 0 : heap_.retained(0) / kLeastShare;
  const std::size_t most = is_first_level ? kMostLines / 4 : kMostHeld;
  for (auto& [retained, places] : groups) {
    const bool is_shown = line.held.size() < most && lines_ < kMostLines && (is_first_level || retained >= least);
    if (!is_shown) {
      line.told.rest += retained;
      continue;
    }
    line.held.push_back(line_of(places, is_first_level));
    closed_.push(line.held.back().get());
  }
}

Holder HolderTree::told(Line& line) {
  for (auto& held : line.held) line.told.held.push_back(told(*held));
  for (auto& [key, places] : line.groups)
    for (const std::uint32_t p : places) line.told.rest += heap_.retained(p);
  return std::move(line.told);
}

std::vector<Holder> HolderTree::make(std::uint64_t& rest) {
  Line all;
  if (heap_.places() == 0) return {};
  const std::uint32_t locals = heap_.begin_of(RootClass::locals);
  for (const std::uint32_t p : heap_.held(0)) {
    if (p == locals) {  // threads stand beside the other roots
      for (const std::uint32_t below : heap_.held(p))
        if (heap_.retained(below) != 0) group(below, all);
    } else if (heap_.retained(p) != 0) {
      group(p, all);
    }
  }
  open(all, true);
  while (!closed_.empty() && lines_ < kMostLines) {
    Line* largest = closed_.top();
    closed_.pop();
    open(*largest, false);
  }
  Holder top = told(all);
  rest = top.rest;
  return std::move(top.held);
}

}  // namespace mixstack::dotnet::holders
