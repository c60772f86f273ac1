// Rows of the lists that are shown: functions, threads, callers and callees.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "features/top/call_counts.h"

namespace mixstack::top {

enum class StateFilter : std::uint8_t {
  busy,  ///< everything but waiting
  running,
  runnable,
  waiting,
  gc,  ///< any state, while the runtime was stopping its threads or had stopped them
};
inline constexpr StateFilter kLastStateFilter = StateFilter::gc;

/// Selects the time that counts.
struct Selection {
  StateFilter states = StateFilter::busy;
  bool idle = false;      ///< with `busy`: waiting, too
  std::uint32_t tid = 0;  ///< only of this thread; 0: of all
};

/// Identifies a function across intervals.
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
  bool is_end = false;                                ///< no function: begin of the stack, self time, or "[other]"
  std::uint64_t self = 0, total = 0;                  ///< of the selected time
  std::array<std::uint64_t, kThreadStates> states{};  ///< of a thread, whatever is selected: by ThreadState
  std::uint64_t gc = 0;                               ///< likewise
};

struct RowList {
  std::vector<Row> rows{};
  std::uint64_t selected = 0;  ///< all selected time: 100 % of the rows
};

/// Every function: `self` is time in itself, `total` includes its callees; a recursion counts once.
[[nodiscard]] RowList functions_of(const CallCounts& counts, const Selection& selection);
/// Every thread with selected time; `self` and `total` are the same.
[[nodiscard]] RowList threads_of(const CallCounts& counts, const Selection& selection);
/// Callers of the last function of `path`. `path` goes from a function to its callers: each calls the one before it.
/// `self` is the part of the time spent in the first of `path` itself. A stack counts once for each caller.
[[nodiscard]] RowList callers_of(const CallCounts& counts, const Selection& selection,
                                 const std::vector<FunctionKey>& path);
/// Callees of the last function of `path`, likewise; `path` goes from a function to its callees. `self` is the time
/// spent in the row's function itself.
[[nodiscard]] RowList callees_of(const CallCounts& counts, const Selection& selection,
                                 const std::vector<FunctionKey>& path);

enum class SortKey : std::uint8_t { self, total, name, module };
inline constexpr SortKey kLastSortKey = SortKey::module;
/// Numbers descending, texts ascending; ties by name, so that a list does not flicker.
void sort_rows(std::vector<Row>& rows, SortKey key);
/// Keeps the rows whose name or module matches `pattern` (name_pattern.h); an empty pattern keeps all.
void filter_rows(std::vector<Row>& rows, std::string_view pattern);

}  // namespace mixstack::top
