#include "features/top/row_list.h"

#include <algorithm>
#include <unordered_map>

#include "base/words/name_pattern.h"

namespace mixstack::top {
namespace {

bool is_selected(const CallCell& cell, const Selection& selection) {
  const bool waits = cell.state == ListedState::waiting;
  switch (selection.states) {
    case StateFilter::busy:
      return selection.idle || !waits;
    case StateFilter::running:
      return cell.state == ListedState::running;
    case StateFilter::runnable:
      return cell.state == ListedState::runnable;
    case StateFilter::waiting:
      return waits;
    case StateFilter::gc:
      return cell.in_gc;
  }
  return false;
}

/// Time of each node itself, and of all of them.
struct SelfTimes {
  std::vector<std::uint64_t> nodes;
  std::uint64_t all = 0;
};

SelfTimes self_times(const CallCounts& counts, const Selection& selection) {
  SelfTimes times{std::vector<std::uint64_t>(counts.nodes().size()), 0};
  const std::uint32_t thread = selection.tid == 0 ? kNoIndex : counts.find_thread(selection.tid);
  for (const CallCell& cell : counts.cells()) {
    if (!is_selected(cell, selection)) continue;
    times.all += cell.time;  // a thread's percentages are relative to all threads
    if (selection.tid == 0 || cell.thread == thread) times.nodes[cell.node] += cell.time;
  }
  return times;
}

Row row_of(const CallCounts& counts, std::uint32_t function) {
  const CountedFunction& f = counts.functions()[function];
  return {.name = f.name, .module = f.module, .kind = f.kind};
}

/// Rows by function; kNoIndex stands for the end of a stack.
class RowMaker {
 public:
  RowMaker(const CallCounts& counts, std::string end_name) : counts_(counts), end_name_(std::move(end_name)) {}
  Row& row(std::uint32_t function) {
    const auto [at, is_new] = numbers_.try_emplace(function, rows_.size());
    if (is_new && function == kNoIndex) {
      rows_.push_back({.name = end_name_, .is_end = true});
    } else if (is_new) {
      rows_.push_back(row_of(counts_, function));
    }
    return rows_[at->second];
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  const CallCounts& counts_;
  std::string end_name_;
  std::vector<Row> rows_;
  std::unordered_map<std::uint32_t, std::size_t> numbers_;
};

/// Empty: one of them was never seen.
std::vector<std::uint32_t> numbers_of(const CallCounts& counts, const std::vector<FunctionKey>& path) {
  std::vector<std::uint32_t> numbers;
  for (const FunctionKey& key : path) {
    numbers.push_back(counts.find_function(key.name, key.kind));
    if (numbers.back() == kNoIndex) return {};
  }
  return numbers;
}

/// Functions of a stack, innermost first.
void read_stack(const CallCounts& counts, std::uint32_t node, std::vector<std::uint32_t>& functions) {
  functions.clear();
  for (; node != CallCounts::kRoot; node = counts.nodes()[node].parent)
    functions.push_back(counts.nodes()[node].function);
}

/// Calls `found(node, stack, place)` for each place where `path` occurs in a stack that has time, toward callers or
/// callees.
template <class Found>
void for_each_place(const CallCounts& counts, const SelfTimes& times, const std::vector<std::uint32_t>& path,
                    bool to_callers, Found found) {
  std::vector<std::uint32_t> stack;
  if (path.empty()) return;
  for (std::uint32_t node = 1; node < times.nodes.size(); node++) {
    if (times.nodes[node] == 0) continue;
    read_stack(counts, node, stack);
    for (std::size_t at = 0; at < stack.size(); at++) {
      std::size_t same = 0;
      while (same < path.size()) {
        const std::size_t place = to_callers ? at + same : at - same;
        if (place >= stack.size() || stack[place] != path[same]) break;
        same++;
      }
      if (same == path.size()) found(node, stack, at);
    }
  }
}

RowList beside(const CallCounts& counts, const Selection& selection, const std::vector<FunctionKey>& path,
               bool to_callers) {
  const SelfTimes times = self_times(counts, selection);
  const auto numbers = numbers_of(counts, path);
  RowMaker maker(counts, to_callers ? "[begin of the stack]" : "[in itself]");
  std::vector<std::uint32_t> counted;  // rows of this stack
  std::uint32_t last = kNoIndex;
  for_each_place(counts, times, numbers, to_callers,
                 [&](std::uint32_t node, const std::vector<std::uint32_t>& stack, std::size_t at) {
                   if (node != last) counted.clear();
                   last = node;
                   const std::size_t next = to_callers ? at + numbers.size() : at - numbers.size();
                   const std::uint32_t function = next < stack.size() ? stack[next] : kNoIndex;
                   Row& row = maker.row(function);
                   const bool is_self = to_callers ? at == 0 : next == 0 || function == kNoIndex;
                   if (is_self) row.self += times.nodes[node];
                   if (std::find(counted.begin(), counted.end(), function) != counted.end()) return;
                   counted.push_back(function);
                   row.total += times.nodes[node];
                 });
  return {maker.take(), times.all};
}

}  // namespace

RowList functions_of(const CallCounts& counts, const Selection& selection) {
  const SelfTimes times = self_times(counts, selection);
  std::vector<std::uint64_t> total = times.nodes;
  std::vector<std::uint64_t> self_by_function(counts.functions().size()), total_by_function(counts.functions().size());
  const auto& nodes = counts.nodes();
  for (std::size_t n = nodes.size(); n-- > 1;) {
    total[nodes[n].parent] += total[n];
    self_by_function[nodes[n].function] += times.nodes[n];
    if (nodes[n].is_outermost) total_by_function[nodes[n].function] += total[n];
  }
  RowList list{{}, times.all};
  for (std::uint32_t f = 0; f < total_by_function.size(); f++) {
    if (total_by_function[f] == 0) continue;
    list.rows.push_back(row_of(counts, f));
    list.rows.back().self = self_by_function[f];
    list.rows.back().total = total_by_function[f];
  }
  return list;
}

RowList threads_of(const CallCounts& counts, const Selection& selection) {
  std::vector<Row> rows(counts.threads().size());
  std::vector<std::unordered_map<std::uint32_t, std::uint64_t>> leaves(rows.size());
  RowList list;
  for (const CallCell& cell : counts.cells()) {
    Row& row = rows[cell.thread];
    row.states[static_cast<std::size_t>(cell.state)] += cell.time;
    if (cell.in_gc) row.gc += cell.time;
    if (!is_selected(cell, selection)) continue;
    list.selected += cell.time;
    row.self += cell.time;
    leaves[cell.thread][counts.nodes()[cell.node].function] += cell.time;
  }
  for (std::uint32_t t = 0; t < rows.size(); t++) {
    Row& row = rows[t];
    if (row.self == 0) continue;
    row.total = row.self;
    row.tid = counts.threads()[t].tid;
    row.name = counts.threads()[t].name;
    row.is_end = row.tid == 0;
    std::uint64_t most = 0;
    for (const auto& [function, time] : leaves[t]) {
      const std::string& name = counts.functions()[function].name;
      if (time < most || (time == most && name > row.module)) continue;
      most = time;
      row.module = name;
    }
    list.rows.push_back(std::move(row));
  }
  return list;
}

RowList callers_of(const CallCounts& counts, const Selection& selection, const std::vector<FunctionKey>& path) {
  return beside(counts, selection, path, true);
}

RowList callees_of(const CallCounts& counts, const Selection& selection, const std::vector<FunctionKey>& path) {
  return beside(counts, selection, path, false);
}

void sort_rows(std::vector<Row>& rows, SortKey key) {
  const auto number = [key](const Row& row) { return key == SortKey::self ? row.self : row.total; };
  std::sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    if (key == SortKey::module && a.module != b.module) return a.module < b.module;
    if (key == SortKey::self || key == SortKey::total) {
      if (number(a) != number(b)) return number(a) > number(b);
      if (a.total != b.total) return a.total > b.total;
    }
    if (a.name != b.name) return a.name < b.name;
    return a.kind != b.kind ? a.kind < b.kind : a.tid < b.tid;
  });
}

void filter_rows(std::vector<Row>& rows, std::string_view pattern) {
  if (pattern.empty()) return;
  std::erase_if(rows,
                [&](const Row& row) { return !name_matches(pattern, row.name) && !name_matches(pattern, row.module); });
}

}  // namespace mixstack::top
