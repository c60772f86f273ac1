// Puts the boxes of async methods found in the heap into chains, and groups equal ones.
// Input: the boxes of a stopped process, chains already reported, queued objects. Output: chains, most frequent first.
// Algorithm:
//   1. Links for each box: `above`, the method that goes on when it ends, by continuations; then `below`, the one it
//      awaits. Promises that name no task (Task.WhenAll) are followed by the tasks that end them, so `above` is first.
//   2. Methods that await several: a depth-first search sets `below` so that a cycle through any of them is found.
//   3. Each box without another below it starts a path, upwards and then down; boxes in no path yet start theirs after.
//   4. Paths with equal methods, states and ends share a key: one is described, the others are only counted.
// Bounds: kMostHops tasks between methods, kMostJoined and kMostAlsoAwaited links, AsyncChains::kMostSteps boxes of a
// path, kMostKinds kinds of chains.
#include "dotnet/async/heap_chains.h"

#include <algorithm>
#include <utility>

#include "dotnet/bcl/tasks.h"
#include "dotnet/bcl/types.h"
#include "dotnet/bcl/waits.h"

namespace mixstack::dotnet::objects {
namespace {

/// The source of values of an async iterator, as the C# compiler names it.
constexpr std::string_view kValueOfIterator = "<>v__promiseOfValueOrEnd";

void append(std::string& key, std::uint64_t word) { key.append(reinterpret_cast<const char*>(&word), sizeof(word)); }

void append_methods(std::string& key, const RuntimeAsync::Methods& found) {
  for (const SuspendedMethod& m : found.methods) {
    append(key, m.resume);
    append(key, static_cast<std::uint32_t>(m.state));
  }
  append(key, found.is_cut ? 1u : 0u);
}

}  // namespace

HeapChains::HeapChains(ManagedObjects& objects, StateMachines& machines, AsyncChains& chains,
                       std::span<const FoundBox> boxes)
    : objects_(objects), machines_(machines), chains_(chains), boxes_(boxes), links_(boxes.size()) {
  by_address_.reserve(boxes.size());
  for (std::size_t i = 0; i < boxes.size(); i++)
    for (const Address at : {boxes[i].address, boxes[i].machine_object})
      if (at != 0) by_address_.emplace(at, static_cast<std::uint32_t>(i));
  const auto field =
      objects.types().field(objects.types().find(bcl::kCoreLib, bcl::Task::kType), bcl::Task::kContinuation);
  if (field && !field->is_static) continuation_at_ = objects.memory().pointer_size() + field->offset;
}

std::uint32_t HeapChains::index_of(Address box) const {
  const auto it = by_address_.find(box);
  return it == by_address_.end() ? kNone : it->second;
}

void HeapChains::leave_out(std::span<const AsyncChain> told) {
  for (const AsyncChain& chain : told) {
    std::string methods;
    for (const AsyncStep& step : chain.steps) {
      told_boxes_.insert(step.box);
      methods += step.method + '\n';
    }
    if (!methods.empty()) told_methods_[methods] += chain.count;
    if (chain.waiter != 0 && !chain.is_cut && chain.awaited.address != 0)
      told_ends_.emplace(chain.awaited.address, chain);
  }
}

/// Finds the method that goes on when a box's has ended: through tasks that only stand for others (Task.Run, WhenAll).
void HeapChains::find_above(std::uint32_t index) {
  const FoundBox& box = boxes_[index];
  Links& links = links_[index];
  if (box.is_task && continuation_at_) {
    const Address next = objects_.read<Address>(box.address + *continuation_at_).value_or(0);
    if (next == 0 && box.machine_object == 0 && !machines_.machine_layout(box.machine.method_table).shared_by_workers)
      return;
    if (next != 0 && (links.above = index_of(next)) != kNone) {
      links.ends_first = true;
      return;
    }
  }
  Address at = box.address;
  if (box.machine_object != 0 && objects_.types().field(box.machine.method_table, kValueOfIterator))
    at = box.machine_object;  // whose values are awaited, not its end
  links.ends_first = true;
  join_above(at);
  for (unsigned hops = 0; hops < kMostHops; hops++) {
    const auto& next = machines_.continuations(at);
    if (next.empty()) return;
    const Address before = std::exchange(at, next.front());
    if (told_ends_.contains(at) && chains_.joins_others(at)) links.joined = at;
    if ((links.above = index_of(at)) != kNone) return;
    if (!chains_.joins_others(at) && chains_.behind(at).task != before) links.ends_first = false;
    if (objects_.is_a(at, bcl::ResetEventSlim::kType)) {
      links.has_waiter = true;
      return;
    }
  }
}

/// Promises that end with a task, and those that end with them.
void HeapChains::join_above(Address task) {
  std::vector<Address> open{task};
  for (unsigned hops = 0; !open.empty() && hops < kMostHops; hops++) {
    const Address at = open.back();
    open.pop_back();
    for (const Address next : machines_.continuations(at)) {
      if (index_of(next) != kNone || !chains_.joins_others(next)) continue;
      std::vector<Address>& joined = joined_[next];
      if (joined.size() == kMostJoined || std::find(joined.begin(), joined.end(), at) != joined.end()) continue;
      if (joined.empty()) open.push_back(next);
      joined.push_back(at);
    }
  }
}

/// The methods whose ends a promise waits for.
void HeapChains::find_joined(std::uint32_t index, Address promise) {
  std::vector<Address> open{promise};
  std::vector<std::uint32_t> found;
  for (std::size_t i = 0; i < open.size() && open.size() < kMostJoined; i++) {
    const auto joined = joined_.find(open[i]);
    if (joined == joined_.end()) continue;
    for (const Address task : joined->second) {
      if (const std::uint32_t below = index_of(task); below != kNone)
        found.push_back(below);
      else if (std::find(open.begin(), open.end(), task) == open.end())
        open.push_back(task);
    }
  }
  if (found.empty()) return;
  links_[index].below = found.front();
  found.erase(found.begin());
  if (found.empty() || also_awaited_ + found.size() > kMostAlsoAwaited) return;
  also_awaited_ += found.size();
  also_awaits_.emplace(index, std::move(found));
}

void HeapChains::find_below(std::uint32_t index) {
  const FoundBox& box = boxes_[index];
  Links& links = links_[index];
  if (box.state < 0) return;
  Address at = links.awaited =
      box.is_runtime_async ? machines_.awaited_by(box.address) : machines_.awaited_by(box.machine, box.address);
  for (unsigned hops = 0; at != 0 && at != box.address && hops < kMostHops; hops++) {
    links.end = at;
    links.below = index_of(at);
    if (links.below != kNone || machines_.is_async(at) || !machines_.is_task(at) || machines_.is_completed(at)) break;
    const AsyncChains::Behind behind = chains_.behind(at);
    links.gives_up |= behind.gives_up;
    if (behind.task == 0) find_joined(index, at);
    at = behind.task;
  }
}

/// Boxes that must have ended before a method goes on.
std::vector<std::uint32_t> HeapChains::all_awaited_by(std::uint32_t index) const {
  std::vector<std::uint32_t> all;
  if (boxes_[index].state < 0) return all;
  if (links_[index].below != kNone) all.push_back(links_[index].below);
  if (const auto also = also_awaits_.find(index); also != also_awaits_.end())
    all.insert(all.end(), also->second.begin(), also->second.end());
  return all;
}

/// A method that awaits several is in a cycle if one of these leads back to it: that one becomes its `below`.
void HeapChains::find_cycles() {
  enum class Mark : std::uint8_t { none, open, done };
  struct Open {
    std::uint32_t box = 0;
    std::vector<std::uint32_t> awaited;  ///< that were not looked at yet
  };
  std::vector<Mark> marks(boxes_.size(), Mark::none);
  std::vector<Open> way;
  const auto enter = [&](std::uint32_t box) {
    marks[box] = Mark::open;
    way.push_back({box, all_awaited_by(box)});
  };
  for (const auto& [start, also] : also_awaits_) {
    if (marks[start] != Mark::none) continue;
    enter(start);
    while (!way.empty()) {
      if (way.back().awaited.empty()) {
        marks[way.back().box] = Mark::done;
        way.pop_back();
        continue;
      }
      const std::uint32_t next = way.back().awaited.back();
      way.back().awaited.pop_back();
      if (marks[next] == Mark::none) {
        enter(next);
      } else if (marks[next] == Mark::open) {
        std::uint32_t below = next;
        for (auto at = way.rbegin(); at != way.rend(); ++at) {
          links_[at->box].below = std::exchange(below, at->box);
          if (at->box == next) break;
        }
      }
    }
  }
}

std::vector<AsyncChain> HeapChains::read() {
  const auto count = static_cast<std::uint32_t>(boxes_.size());
  std::vector<bool> has_below(count);
  for (std::uint32_t i = 0; i < count; i++) find_above(i);
  for (std::uint32_t i = 0; i < count; i++) find_below(i);
  find_cycles();
  for (std::uint32_t i = 0; i < count; i++) {
    Links& links = links_[i];
    if (links.above != kNone) has_below[links.above] = true;
    const bool is_named = links.below != kNone && links_[links.below].above == i;
    // An awaited task that has ended has no continuations any more.
    links.is_proved = is_named || links.awaited == 0 || machines_.is_awaited_by(links.awaited, boxes_[i].address) ||
                      (machines_.is_task(links.awaited) && machines_.is_completed(links.awaited));
  }
  is_covered_.assign(count, false);
  for (const bool below : {false, true})
    for (std::uint32_t i = 0; i < count; i++)
      if (has_below[i] == below && !is_covered_[i]) add(i);
  std::vector<Kind*> sorted;
  for (auto& [key, kind] : kinds_) sorted.push_back(&kind);
  std::sort(sorted.begin(), sorted.end(), [](const Kind* a, const Kind* b) {
    return a->chain.count != b->chain.count ? a->chain.count > b->chain.count : a->order < b->order;
  });
  std::vector<AsyncChain> told;
  told.reserve(sorted.size());
  for (Kind* kind : sorted) told.push_back(std::move(kind->chain));
  return told;
}

/// Whether `upper` goes on only when `lower` has ended.
bool HeapChains::awaits(std::uint32_t upper, std::uint32_t lower) const {
  if (boxes_[upper].state < 0) return false;
  return links_[upper].below == lower || (links_[lower].above == upper && links_[lower].ends_first);
}

/// Whether each from that place on awaits the next, and the last that one.
bool HeapChains::is_cycle(const Path& path, std::size_t from) const {
  for (std::size_t i = from; i < path.size(); i++)
    if (!awaits(path[i], path[i + 1 < path.size() ? i + 1 : from])) return false;
  return true;
}

HeapChains::Path HeapChains::path_through(std::uint32_t index, PathEnd& end) const {
  Path path;
  const auto follow = [&](std::uint32_t Links::*next) {
    for (std::uint32_t at = links_[path.back()].*next; at != kNone; at = links_[at].*next) {
      if (const auto before = std::find(path.begin(), path.end(), at); before != path.end()) return before;
      if (path.size() >= AsyncChains::kMostSteps) {
        end.is_cut = true;
        break;
      }
      path.push_back(at);
    }
    return path.end();
  };
  path.push_back(index);
  const auto closes = follow(&Links::above);
  const bool is_in_it = closes == path.begin();
  // A path that enters a cycle from outside is cut where it enters: the cycle is a chain of its own.
  if (closes != path.end() && !is_in_it) {
    path.erase(closes + 1, path.end());
    end.is_cut = end.is_entered = true;
  }
  std::reverse(path.begin(), path.end());
  if (is_in_it) {
    end.cycle_from = 0;
  } else if (const auto again = follow(&Links::below); again != path.end()) {
    end.cycle_from = static_cast<std::uint32_t>(again - path.begin());
  }
  if (end.cycle_from != kNone && !is_cycle(path, end.cycle_from)) {
    end.cycle_from = kNone;
    end.is_cut = true;
  }
  return path;
}

/// The methods of a box are added; false: not all of them.
bool HeapChains::add_steps(std::uint32_t index, std::vector<AsyncStep>& steps) {
  const FoundBox& box = boxes_[index];
  if (box.is_runtime_async) return machines_.add_steps(box.address, steps);
  steps.push_back({machines_.method_of(box.machine), box.address, box.state});
  return true;
}

std::string HeapChains::methods_of(const Path& path) {
  std::vector<AsyncStep> steps;
  for (const std::uint32_t i : path) (void)add_steps(i, steps);
  std::string methods;
  for (const AsyncStep& step : steps) methods += step.method + '\n';
  return methods;
}

/// The told chain that ends in a promise which one of the methods of the path leads up to.
const AsyncChain* HeapChains::told_above(const Path& path) const {
  for (const std::uint32_t i : path)
    if (const auto it = told_ends_.find(links_[i].joined); it != told_ends_.end()) return &it->second;
  return nullptr;
}

bool HeapChains::is_told(const Path& path) {
  const bool is_by_box = std::any_of(path.begin(), path.end(),
                                     [this](std::uint32_t i) { return told_boxes_.contains(boxes_[i].address); });
  if (told_methods_.empty() || !links_[path.front()].has_waiter) return is_by_box;
  const auto it = told_methods_.find(methods_of(path));
  if (it == told_methods_.end() || it->second == 0) return is_by_box;
  it->second--;
  return true;
}

std::string HeapChains::key_of(const Path& path, const PathEnd& end) {
  std::string key;
  key.reserve(16 * (path.size() + 2));
  bool is_proved = true;
  for (const std::uint32_t i : path) {
    append(key, boxes_[i].machine.method_table);
    append(key, static_cast<std::uint32_t>(boxes_[i].state));
    if (boxes_[i].is_runtime_async) append_methods(key, machines_.runtime_async().methods_of(boxes_[i].address));
    is_proved = is_proved && links_[i].is_proved;
  }
  const FoundBox& last = boxes_[path.back()];
  const Address awaited = links_[path.back()].awaited;
  append(key, awaited == 0 ? 0 : objects_.type_of(awaited));
  // The source behind a task tells the reads of a channel from those of a socket.
  const Address last_end = links_[path.back()].end;
  append(key, last_end == 0 ? 0 : objects_.type_of(last_end));
  append(key, end.cycle_from);
  append(key, (end.is_cut ? 1u : 0u) | (is_proved ? 2u : 0u) | (queued_.contains(last.address) ? 4u : 0u) |
                  (queued_.contains(awaited) ? 8u : 0u) | (awaited != 0 && machines_.is_completed(awaited) ? 16u : 0u));
  const Address action = awaited == 0 ? 0 : objects_.reference(awaited, bcl::Task::kAction).value_or(0);
  append(key, action == 0 ? 0 : objects_.value<std::uint64_t>(action, bcl::Delegate::kMethod).value_or(0));
  return key;
}

AsyncChain HeapChains::describe(const Path& path, const PathEnd& end) {
  const FoundBox& last = boxes_[path.back()];
  AsyncChain chain = chains_.below(last.address);
  bool is_proved = chain.proof != Proof::likely;
  chain.steps.clear();
  chain.is_cut = end.is_cut;
  for (const std::uint32_t i : path) {
    if (!add_steps(i, chain.steps)) chain.is_cut = true;
    is_proved = is_proved && links_[i].is_proved;
    chain.gives_up |= links_[i].gives_up;
  }
  if (end.cycle_from != kNone) {
    const Address first = boxes_[path[end.cycle_from]].address;
    chain.end = AsyncEnd::cycle;
    chain.awaited = {first, objects_.type_name(first), {}};
    const auto is_task = [this](std::uint32_t i) { return boxes_[i].is_task && boxes_[i].machine_object == 0; };
    is_proved = is_proved && std::all_of(path.begin() + end.cycle_from, path.end(), is_task);
  } else if (chain.end == AsyncEnd::cycle && chain.awaited.address != last.address) {
    // With methods that are not of this path: nothing but one that awaits itself is known of the last alone.
    chain.end = AsyncEnd::unknown;
    chain.is_cut = true;
  }
  chain.proof = is_proved ? Proof::proved : Proof::likely;
  chain.is_queued =
      queued_.contains(last.address) || (chain.end != AsyncEnd::completed && queued_.contains(chain.awaited.address));
  if (chains_.may_run(chain)) chain.proof = Proof::likely;
  return chain;
}

void HeapChains::add(std::uint32_t index) {
  PathEnd end;
  const Path path = path_through(index, end);
  for (const std::uint32_t i : path)
    if (!end.is_entered || i != path.front()) is_covered_[i] = true;
  const AsyncChain* above = told_above(path);
  if (above == nullptr && is_told(path)) return;
  std::string key = key_of(path, end);
  append(key, above == nullptr ? 0 : above->awaited.address);
  const auto known = kinds_.find(key);
  if (known == kinds_.end()) {
    if (kinds_.size() == kMostKinds) {
      has_more_ = true;
      return;
    }
    AsyncChain chain = describe(path, end);
    if (chain.steps.empty()) return;
    if (above != nullptr) {
      chain.waiter = above->waiter;
      chain.context = above->context;
      chain.gives_up |= above->gives_up;
      if (above->proof == Proof::likely) chain.proof = Proof::likely;
      explained_.insert(above->awaited.address);
    }
    kinds_.emplace(std::move(key), Kind{std::move(chain), kinds_.size()});
    return;
  }
  AsyncChain& chain = known->second.chain;
  chain.count++;
  if (chain.end != AsyncEnd::delay || !chain.due) return;
  const Address awaited = links_[path.back()].awaited;
  const auto due = chains_.due(objects_.reference(awaited, bcl::DelayPromise::kTimer).value_or(0));
  if (!due || *due >= *chain.due) return;
  chain.due = due;
  chain.awaited.address = awaited;
  chain.steps.clear();
  for (const std::uint32_t i : path) (void)add_steps(i, chain.steps);
}

}  // namespace mixstack::dotnet::objects
