// Rows of the lists that are shown: functions, threads, callers and callees.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "top/call_counts.h"

namespace mixstack::top {

enum class StateFilter : std::uint8_t {
  busy,  ///< all but what waits
  running,
  runnable,
  waiting,
  gc,  ///< whatever threads did while the runtime was stopping them, or had
};
inline constexpr StateFilter kLastStateFilter = StateFilter::gc;

/// Which time counts.
struct Selection {
  StateFilter states = StateFilter::busy;
  bool idle = false;      ///< with `busy`: what waits, too
  std::uint32_t tid = 0;  ///< only of this thread; 0: of all
};

/// A function as it is found again after another interval.
struct FunctionKey {
  std::string name{};
  CodeKind kind = CodeKind::unknown;
  friend bool operator==(const FunctionKey&, const FunctionKey&) = default;
};

struct Row {
  std::string name{};
  std::string module{};  ///< of a thread: the function that most of its time ended in
  CodeKind kind = CodeKind::unknown;
  std::uint32_t tid = 0;                              ///< of threads
  bool is_end = false;                                ///< no function: where calls begin, or the function itself
  std::uint64_t self = 0, total = 0;                  ///< of what was selected
  std::array<std::uint64_t, kThreadStates> states{};  ///< of a thread, whatever is selected: by ThreadState
  std::uint64_t gc = 0;                               ///< likewise
};

struct RowList {
  std::vector<Row> rows{};
  std::uint64_t selected = 0;  ///< time of all that was selected: what shares are of
};

/// Every function: `self` is time in itself, `total` with what it called; a recursion counts once.
[[nodiscard]] RowList functions_of(const CallCounts& counts, const Selection& selection);
/// Every thread that something was counted of; `self` and `total` are the same.
[[nodiscard]] RowList threads_of(const CallCounts& counts, const Selection& selection);
/// Who called the last of `path`, where this called the one before it, and so on: `path` goes from a function to its
/// callers. `self` is what of it was spent in the first of `path` itself. A stack counts once for each caller.
[[nodiscard]] RowList callers_of(const CallCounts& counts, const Selection& selection,
                                 const std::vector<FunctionKey>& path);
/// Whom the last of `path` called, likewise; `path` goes from a function to what it called. `self` is what was spent in
/// the row's function itself.
[[nodiscard]] RowList callees_of(const CallCounts& counts, const Selection& selection,
                                 const std::vector<FunctionKey>& path);

enum class SortKey : std::uint8_t { self, total, name, module };
inline constexpr SortKey kLastSortKey = SortKey::module;
/// Most first, texts by the alphabet; equal ones by name, so that a list does not flicker.
void sort_rows(std::vector<Row>& rows, SortKey key);
/// Leaves the rows whose name or module `pattern` matches, as name_pattern.h does; an empty one all.
void filter_rows(std::vector<Row>& rows, std::string_view pattern);

}  // namespace mixstack::top
