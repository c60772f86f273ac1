#include "dotnet/objects/heap_chains.h"

#include <algorithm>

namespace mixstack::dotnet::objects {
namespace {

constexpr std::string_view kCoreLib = "System.Private.CoreLib";
constexpr std::string_view kTask = "System.Threading.Tasks.Task";
/// The source of values of an async iterator, as the C# compiler names it.
constexpr std::string_view kValueOfIterator = "<>v__promiseOfValueOrEnd";
constexpr std::string_view kEvent = "System.Threading.ManualResetEventSlim";

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
  const auto field = objects.types().field(objects.types().find(kCoreLib, kTask), "m_continuationObject");
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
    if (!methods.empty()) told_methods_[methods]++;
    if (chain.waiter != 0 && !chain.is_cut && chains_.joins_others(chain.awaited.address))
      told_ends_.emplace(chain.awaited.address, chain);
  }
}

/// Who goes on when a box's method has ended: through tasks that only stand for others (Task.Run's, WhenAll's).
void HeapChains::find_above(std::uint32_t index) {
  const FoundBox& box = boxes_[index];
  Links& links = links_[index];
  if (box.is_task && continuation_at_) {
    const Address next = objects_.read<Address>(box.address + *continuation_at_).value_or(0);
    if (next == 0 && box.machine_object == 0) return;
    if (next != 0 && next != box.address && (links.above = index_of(next)) != kNone) return;
  }
  Address at = box.address;
  if (box.machine_object != 0 && objects_.types().field(box.machine.method_table, kValueOfIterator))
    at = box.machine_object;  // whose values are awaited, not its end
  for (unsigned hops = 0; hops < kMostHops; hops++) {
    const auto& next = machines_.continuations(at);
    if (next.empty() || next.front() == box.address) return;
    at = next.front();
    if (told_ends_.contains(at)) links.joined = at;
    if ((links.above = index_of(at)) != kNone) return;
    if (objects_.is_a(at, kEvent)) {
      links.has_waiter = true;
      return;
    }
  }
}

void HeapChains::link(std::uint32_t index) {
  const FoundBox& box = boxes_[index];
  find_above(index);
  Links& links = links_[index];
  if (box.state < 0) return;
  Address at = links.awaited =
      box.is_runtime_async ? machines_.awaited_by(box.address) : machines_.awaited_by(box.machine, box.address);
  for (unsigned hops = 0; at != 0 && at != box.address && hops < kMostHops; hops++) {
    links.below = index_of(at);
    if (links.below != kNone || machines_.is_async(at) || !machines_.is_task(at) || machines_.is_completed(at)) break;
    const AsyncChains::Behind behind = chains_.behind(at);
    links.gives_up |= behind.gives_up;
    at = behind.task;
  }
}

std::vector<AsyncChain> HeapChains::read() {
  const auto count = static_cast<std::uint32_t>(boxes_.size());
  std::vector<bool> has_below(count);
  for (std::uint32_t i = 0; i < count; i++) link(i);
  for (std::uint32_t i = 0; i < count; i++) {
    Links& links = links_[i];
    if (links.above != kNone) has_below[links.above] = true;
    const bool is_named = links.below != kNone && links_[links.below].above == i;
    links.is_proved = is_named || links.awaited == 0 || machines_.is_awaited_by(links.awaited, boxes_[i].address);
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

HeapChains::Path HeapChains::path_through(std::uint32_t index, bool& is_cut) const {
  Path path;
  const auto follow = [&](std::uint32_t Links::*next) {
    for (std::uint32_t at = links_[index].*next; at != kNone; at = links_[at].*next) {
      if (path.size() >= AsyncChains::kMostSteps || at == index ||
          std::find(path.begin(), path.end(), at) != path.end()) {
        is_cut = true;
        return;
      }
      path.push_back(at);
    }
  };
  follow(&Links::above);
  std::reverse(path.begin(), path.end());
  path.push_back(index);
  follow(&Links::below);
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
  for (const std::uint32_t i : path)
    if (told_boxes_.contains(boxes_[i].address)) return true;
  if (told_methods_.empty() || !links_[path.front()].has_waiter) return false;
  const auto it = told_methods_.find(methods_of(path));
  if (it == told_methods_.end() || it->second == 0) return false;
  it->second--;
  return true;
}

std::string HeapChains::key_of(const Path& path, bool is_cut) {
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
  append(key, (is_cut ? 1u : 0u) | (is_proved ? 2u : 0u) | (queued_.contains(last.address) ? 4u : 0u) |
                  (queued_.contains(awaited) ? 8u : 0u) | (awaited != 0 && machines_.is_completed(awaited) ? 16u : 0u));
  const Address action = awaited == 0 ? 0 : objects_.reference(awaited, "m_action").value_or(0);
  append(key, action == 0 ? 0 : objects_.value<std::uint64_t>(action, "_methodPtr").value_or(0));
  return key;
}

AsyncChain HeapChains::describe(const Path& path, bool is_cut) {
  const FoundBox& last = boxes_[path.back()];
  AsyncChain chain = chains_.below(last.address);
  bool is_proved = chain.proof != Proof::likely;
  chain.steps.clear();
  chain.is_cut = is_cut;
  for (const std::uint32_t i : path) {
    if (!add_steps(i, chain.steps)) chain.is_cut = true;
    is_proved = is_proved && links_[i].is_proved;
    chain.gives_up |= links_[i].gives_up;
  }
  chain.proof = is_proved ? Proof::proved : Proof::likely;
  chain.is_queued =
      queued_.contains(last.address) || (chain.end != AsyncEnd::completed && queued_.contains(chain.awaited.address));
  if (chains_.may_run(chain)) chain.proof = Proof::likely;
  return chain;
}

void HeapChains::add(std::uint32_t index) {
  bool is_cut = false;
  const Path path = path_through(index, is_cut);
  for (const std::uint32_t i : path) is_covered_[i] = true;
  const AsyncChain* above = told_above(path);
  if (above == nullptr && is_told(path)) return;
  std::string key = key_of(path, is_cut);
  append(key, above == nullptr ? 0 : above->awaited.address);
  const auto known = kinds_.find(key);
  if (known == kinds_.end()) {
    if (kinds_.size() == kMostKinds) {
      has_more_ = true;
      return;
    }
    AsyncChain chain = describe(path, is_cut);
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
  const auto due = chains_.due(objects_.reference(awaited, "_timer").value_or(0));
  if (!due || *due >= *chain.due) return;
  chain.due = due;
  chain.awaited.address = awaited;
  chain.steps.clear();
  for (const std::uint32_t i : path) (void)add_steps(i, chain.steps);
}

}  // namespace mixstack::dotnet::objects
