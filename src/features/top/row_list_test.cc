#include "features/top/row_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "support/sample_recording.h"

namespace mixstack::top {
namespace {

constexpr std::uint64_t kPeriod = 10'000'000;  // of the sample recording

CallCounts sample_counts() {
  const Recording recording = testing::sample_recording();
  ProfileOptions options;
  options.idle = true;
  CallCounts counts;
  counts.add(recording, view_of(recording, options));
  return counts;
}

const Row* find(const RowList& list, std::string_view name) {
  const auto at = std::find_if(list.rows.begin(), list.rows.end(), [&](const Row& row) { return row.name == name; });
  return at == list.rows.end() ? nullptr : &*at;
}

void expect_row(const RowList& list, std::string_view name, std::uint64_t self, std::uint64_t total) {
  const Row* row = find(list, name);
  ASSERT_NE(row, nullptr) << name;
  EXPECT_EQ(row->self, self * kPeriod) << name;
  EXPECT_EQ(row->total, total * kPeriod) << name;
}

TEST(RowList, FunctionsHaveSelfAndTotal) {
  const RowList list = functions_of(sample_counts(), {});
  EXPECT_EQ(list.selected, 155 * kPeriod);
  expect_row(list, "App.Work()", 60, 95);
  expect_row(list, "App.Helper()", 30, 30);
  expect_row(list, "App.Main(string[])", 0, 105);
  expect_row(list, "memcpy", 60, 60);
  EXPECT_EQ(find(list, "futex;wait"), nullptr) << "it waits";
}

TEST(RowList, StatesChooseWhatCounts) {
  const CallCounts counts = sample_counts();
  expect_row(functions_of(counts, {.idle = true}), "futex;wait", 50, 50);
  EXPECT_EQ(functions_of(counts, {.idle = true}).selected, 205 * kPeriod);
  EXPECT_EQ(functions_of(counts, {.states = StateFilter::running}).selected, 155 * kPeriod);
  EXPECT_EQ(functions_of(counts, {.states = StateFilter::runnable}).rows.size(), 0u);
  EXPECT_EQ(functions_of(counts, {.states = StateFilter::waiting}).selected, 50 * kPeriod);
  const RowList gc = functions_of(counts, {.states = StateFilter::gc});
  EXPECT_EQ(gc.selected, 5 * kPeriod);
  expect_row(gc, "sys_read", 5, 5);
}

TEST(RowList, ThreadsHaveTheirStates) {
  const RowList list = threads_of(sample_counts(), {});
  ASSERT_EQ(list.rows.size(), 2u);
  const Row* worker = find(list, ".NET TP Worker [tid 4712]");
  ASSERT_NE(worker, nullptr);
  EXPECT_EQ(worker->total, 60 * kPeriod);
  EXPECT_EQ(worker->states[static_cast<std::size_t>(ListedState::running)], 60 * kPeriod);
  EXPECT_EQ(worker->states[static_cast<std::size_t>(ListedState::waiting)], 50 * kPeriod);
  EXPECT_EQ(worker->module, "memcpy") << "where most of its time went";
  const RowList of_worker = functions_of(sample_counts(), {.tid = 4712});
  expect_row(of_worker, "memcpy", 60, 60);
  EXPECT_EQ(find(of_worker, "App.Work()"), nullptr);
  EXPECT_EQ(of_worker.selected, 155 * kPeriod) << "shares are of the time of all";
}

TEST(RowList, CallersAndCallees) {
  const CallCounts counts = sample_counts();
  const FunctionKey copy{"memcpy", CodeKind::native}, main{"App.Main(string[])", CodeKind::managed},
      start{"start", CodeKind::native}, work{"App.Work()", CodeKind::managed};
  const RowList callers = callers_of(counts, {}, {copy});
  ASSERT_EQ(callers.rows.size(), 2u);
  expect_row(callers, "App.Main(string[])", 10, 10);
  const RowList further = callers_of(counts, {}, {copy, main});
  ASSERT_EQ(further.rows.size(), 1u);
  expect_row(further, "start", 10, 10);
  const RowList ends = callers_of(counts, {}, {copy, main, start});
  ASSERT_EQ(ends.rows.size(), 1u);
  EXPECT_TRUE(ends.rows[0].is_end);
  const RowList of_work = callers_of(counts, {}, {work});
  expect_row(of_work, "App.Main(string[])", 60, 95);
  const RowList callees = callees_of(counts, {}, {main});
  expect_row(callees, "App.Work()", 60, 95);
  expect_row(callees, "memcpy", 10, 10);
  expect_row(callees_of(counts, {}, {work}), "[in itself]", 60, 60);
  expect_row(callees_of(counts, {}, {main, work}), "App.Helper()", 30, 30);
  EXPECT_TRUE(callers_of(counts, {}, {{"nothing", CodeKind::native}}).rows.empty());
}

/// One thread, one stack.
CallCounts counts_of_stack(std::initializer_list<const char*> outermost_first) {
  Recording recording;
  recording.facts.wall_hertz = 100;
  (void)recording.process({.pid = 1});
  (void)recording.add_thread({.tid = 7});
  std::uint32_t node = 0;
  for (const char* name : outermost_first)
    node = *recording.node({node, *recording.frame({.function = *recording.function({.name = name})})});
  const auto context = recording.context({.activity = Activity::running});
  EXPECT_TRUE(recording.add({.stack = node, .context = *context, .count = 1}));
  CallCounts counts;
  counts.add(recording, view_of(recording, {}));
  return counts;
}

TEST(RowList, ARecursionCountsOnce) {
  const CallCounts counts = counts_of_stack({"main", "a", "b", "a", "b", "a"});
  const RowList list = functions_of(counts, {});
  expect_row(list, "a", 1, 1);
  expect_row(list, "b", 0, 1);
  const RowList callers = callers_of(counts, {}, {{"a", CodeKind::native}});
  expect_row(callers, "b", 1, 1);
  expect_row(callers, "main", 0, 1);
  const RowList callees = callees_of(counts, {}, {{"a", CodeKind::native}});
  expect_row(callees, "b", 0, 1);
  expect_row(callees, "[in itself]", 1, 1);
}

TEST(RowList, SortedAndFiltered) {
  RowList list = functions_of(sample_counts(), {});
  sort_rows(list.rows, SortKey::self);
  EXPECT_EQ(list.rows[0].name, "App.Work()") << "as much as memcpy itself, and more in all";
  EXPECT_EQ(list.rows[1].name, "memcpy");
  sort_rows(list.rows, SortKey::total);
  EXPECT_EQ(list.rows[0].total, 105 * kPeriod);
  sort_rows(list.rows, SortKey::name);
  EXPECT_TRUE(std::is_sorted(list.rows.begin(), list.rows.end(), [](auto& a, auto& b) { return a.name < b.name; }));
  sort_rows(list.rows, SortKey::module);
  EXPECT_TRUE(std::is_sorted(list.rows.begin(), list.rows.end(), [](auto& a, auto& b) { return a.module < b.module; }));
  filter_rows(list.rows, "App.*");
  EXPECT_EQ(list.rows.size(), 3u);
  filter_rows(list.rows, "Help");
  ASSERT_EQ(list.rows.size(), 1u);
  EXPECT_EQ(list.rows[0].name, "App.Helper()");
  filter_rows(list.rows, "");
  EXPECT_EQ(list.rows.size(), 1u);
}

}  // namespace
}  // namespace mixstack::top
