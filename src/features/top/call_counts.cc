#include "features/top/call_counts.h"

#include <algorithm>

#include "output/report/escape.h"

namespace mixstack::top {
namespace {

constexpr std::size_t kLongestName = 4096;

ListedState state_of(Activity activity) {
  switch (activity) {
    case Activity::running:
      return ListedState::running;
    case Activity::runnable:
      return ListedState::runnable;
    case Activity::waiting:
    case Activity::blocked:
      return ListedState::waiting;
    case Activity::unknown:
      break;
  }
  return ListedState::unknown;
}

std::string shown(const std::string& text) { return report::escape_for_terminal(text.substr(0, kLongestName)); }

std::string key_of(std::string_view name, CodeKind kind) {
  return std::string(1, static_cast<char>('0' + static_cast<int>(kind))).append(name);
}

std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) { return std::uint64_t{a} << 32 | b; }

std::uint64_t sum(std::uint64_t a, std::uint64_t b) { return a > UINT64_MAX - b ? UINT64_MAX : a + b; }

/// The median: half of `times` are at most this.
std::uint64_t middle(std::vector<std::uint64_t> times) {
  if (times.empty()) return 0;
  const auto half = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), half, times.end());
  return *half;
}

}  // namespace

CallCounts::CallCounts(const Bounds& bounds) : bounds_(bounds), nodes_(2), depths_{0, 1} {
  functions_.push_back({.name = std::string(kOtherName)});
  threads_.push_back({.name = std::string(kOtherName)});
  nodes_[kOtherNode] = {.parent = kRoot, .function = kOther};
  function_numbers_.emplace(key_of(kOtherName, CodeKind::unknown), kOther);
  thread_numbers_.emplace(0, kOther);
  node_numbers_.emplace(pair_key(kRoot, kOther), kOtherNode);
}

std::uint32_t CallCounts::find_function(std::string_view name, CodeKind kind) const {
  const auto known = function_numbers_.find(key_of(name, kind));
  return known == function_numbers_.end() ? kNoIndex : known->second;
}

std::uint32_t CallCounts::find_thread(std::uint32_t tid) const {
  const auto known = thread_numbers_.find(tid);
  return known == thread_numbers_.end() ? kNoIndex : known->second;
}

std::uint32_t CallCounts::function(const std::string& name, const std::string& module, CodeKind kind) {
  if (const std::uint32_t known = find_function(name, kind); known != kNoIndex) return known;
  if (functions_.size() >= bounds_.functions) return kNoIndex;
  const auto number = static_cast<std::uint32_t>(functions_.size());
  functions_.push_back({name, module, kind});
  function_numbers_.emplace(key_of(name, kind), number);
  return number;
}

std::uint32_t CallCounts::thread(std::uint32_t tid, std::string name) {
  const auto [at, is_new] = thread_numbers_.try_emplace(tid, static_cast<std::uint32_t>(threads_.size()));
  if (!is_new) {
    if (at->second != kOther) threads_[at->second].name = std::move(name);  // names come later than threads
    return at->second;
  }
  if (threads_.size() >= bounds_.threads) {
    thread_numbers_.erase(at);
    return kNoIndex;
  }
  threads_.push_back({tid, std::move(name)});
  return at->second;
}

std::uint32_t CallCounts::child(std::uint32_t parent, std::uint32_t function) {
  const std::uint64_t key = pair_key(parent, function);
  if (const auto known = node_numbers_.find(key); known != node_numbers_.end()) return known->second;
  if (nodes_.size() >= bounds_.nodes || places_ + depths_[parent] >= bounds_.places) return kNoIndex;
  const auto number = static_cast<std::uint32_t>(nodes_.size());
  bool is_outermost = true;
  for (std::uint32_t at = parent; at != kRoot && is_outermost; at = nodes_[at].parent)
    is_outermost = nodes_[at].function != function;
  nodes_.push_back({parent, function, is_outermost});
  depths_.push_back(depths_[parent] + 1);
  places_ += depths_[parent] + 1;
  node_numbers_.emplace(key, number);
  return number;
}

void CallCounts::add(CallCell cell) {
  const auto key = [](const CallCell& c) {
    return CellKey{pair_key(c.node, c.thread), static_cast<std::uint32_t>(c.state) << 1 | (c.in_gc ? 1u : 0u)};
  };
  auto known = cell_numbers_.find(key(cell));
  // A full table still takes cells of [other]; there are at most kThreadStates * 2 of them.
  if (known == cell_numbers_.end() && cells_.size() >= bounds_.cells) {
    cell.node = kOtherNode;
    cell.thread = kOther;
    known = cell_numbers_.find(key(cell));
  }
  if (known == cell_numbers_.end()) {
    cell_numbers_.emplace(key(cell), static_cast<std::uint32_t>(cells_.size()));
    cells_.push_back(cell);
  } else {
    std::uint64_t& time = cells_[known->second].time;
    time = sum(time, cell.time);
  }
}

/// Maps each node of the view to a node here; kNoIndex where there is no room.
std::vector<std::uint32_t> CallCounts::places_of(const Recording& recording, const RecordingView& view) {
  std::vector<std::uint32_t> functions(view.entries.size(), kNoIndex), places(view.nodes.size(), kNoIndex);
  std::vector<bool> is_asked(view.entries.size());
  places[0] = kRoot;
  for (std::size_t n = 1; n < view.nodes.size(); n++) {
    const ViewNode& node = view.nodes[n];
    if (!is_asked[node.entry]) {
      is_asked[node.entry] = true;
      const ViewEntry& entry = view.entries[node.entry];
      const std::uint32_t module = entry.function == kNoIndex ? kNoIndex : recording.functions()[entry.function].module;
      functions[node.entry] = function(
          shown(entry.name), module == kNoIndex ? std::string() : shown(recording.modules()[module].name), entry.kind);
    }
    if (places[node.parent] != kNoIndex && functions[node.entry] != kNoIndex)
      places[n] = child(places[node.parent], functions[node.entry]);
  }
  return places;
}

void CallCounts::add(const Recording& recording, const RecordingView& view) {
  const auto places = places_of(recording, view);
  std::unordered_map<std::uint32_t, std::uint32_t> threads;  // of the recording
  for (const ViewSample& sample : view.samples) {
    const SampleContext& context = recording.contexts()[sample.context];
    const auto [at, is_new] = threads.try_emplace(context.thread, kOther);
    if (is_new) {
      const std::uint32_t number =
          thread(recording.threads()[context.thread].tid, shown(shown_thread(recording, context.thread)));
      at->second = number == kNoIndex ? kOther : number;
    }
    const std::uint32_t place = places[sample.node];
    add(CallCell{place == kNoIndex || place == kRoot ? kOtherNode : place, at->second, state_of(context.activity),
                 context.gc_pending, view.weight(sample.count)});
  }
  if (is_nearly_full()) thin();
}

bool CallCounts::is_nearly_full() const {
  const auto nearly = [](std::size_t size, std::size_t most) { return size >= most - most / 4; };
  return nearly(functions_.size(), bounds_.functions) || nearly(threads_.size(), bounds_.threads) ||
         nearly(nodes_.size(), bounds_.nodes) || nearly(cells_.size(), bounds_.cells) ||
         nearly(places_, bounds_.places);
}

void CallCounts::thin() {
  std::vector<std::uint64_t> nodes(nodes_.size()), threads(threads_.size()), cells;
  for (const CallCell& cell : cells_) {
    nodes[cell.node] = sum(nodes[cell.node], cell.time);
    threads[cell.thread] = sum(threads[cell.thread], cell.time);
    cells.push_back(cell.time);
  }
  for (std::size_t n = nodes.size(); n-- > 1;) nodes[nodes_[n].parent] = sum(nodes[nodes_[n].parent], nodes[n]);
  // A node's time includes its callees', so a node that is kept has callers that are kept.
  const std::uint64_t light_node = middle(nodes), light_thread = middle(threads);
  std::vector<bool> keeps_node(nodes.size()), keeps_thread(threads.size(), true);
  for (std::size_t n = 0; n < nodes.size(); n++) keeps_node[n] = nodes[n] > light_node;
  if (threads.size() > bounds_.threads / 2)
    for (std::size_t t = 0; t < threads.size(); t++) keeps_thread[t] = threads[t] > light_thread;
  const std::uint64_t least = cells_.size() > bounds_.cells / 2 ? middle(std::move(cells)) + 1 : 0;
  CallCounts fewer(bounds_);
  fewer.take_over(*this, keeps_node, keeps_thread, least);
  *this = std::move(fewer);
}

/// Copies the chosen nodes and threads. Cells of less than `least` move to [other], and lose their thread, too.
void CallCounts::take_over(const CallCounts& from, const std::vector<bool>& keeps_node,
                           const std::vector<bool>& keeps_thread, std::uint64_t least) {
  std::vector<std::uint32_t> nodes(from.nodes_.size(), kNoIndex), threads(from.threads_.size(), kOther);
  nodes[kRoot] = kRoot;
  for (std::size_t n = kOtherNode + 1; n < nodes.size(); n++) {
    const CallNode& node = from.nodes_[n];
    if (!keeps_node[n] || nodes[node.parent] == kNoIndex) continue;
    const CountedFunction& f = from.functions_[node.function];
    nodes[n] = child(nodes[node.parent], function(f.name, f.module, f.kind));
  }
  for (std::size_t t = 1; t < threads.size(); t++)
    if (keeps_thread[t]) threads[t] = thread(from.threads_[t].tid, from.threads_[t].name);
  for (CallCell cell : from.cells_) {
    cell.node = nodes[cell.node] == kNoIndex || cell.time < least ? kOtherNode : nodes[cell.node];
    cell.thread = cell.time < least ? kOther : threads[cell.thread];
    add(cell);
  }
}

}  // namespace mixstack::top
