// The state of `mixstack top`: which list is shown, its order and filter, and the effect of each key. No terminal here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "features/top/row_list.h"

namespace mixstack::top {

/// Commands that keys are bound to.
enum class Command : std::uint8_t {
  up,
  down,
  page_up,
  page_down,
  first,
  last,
  enter,    ///< callers of the function, functions of the thread
  back,     ///< where `enter` or `callees` came from
  callees,  ///< of the function
  threads,  ///< functions or threads
  states,   ///< the next StateFilter
  idle,
  sort_next,
  sort_previous,
  whole,  ///< the last interval or the whole run
  pause,
  reset,  ///< forgets what was counted
};

/// Not thread-safe. A list is made when it is asked for and something has changed.
class Browser {
 public:
  explicit Browser(const Selection& selection = {}) : selection_(selection) {}

  /// Adds one interval. While paused it is counted, but not shown.
  void add(const Recording& recording, const RecordingView& view);
  void press(Command command);
  /// Shows only rows whose function or module matches; empty: all.
  void set_filter(std::string pattern);
  /// The rows that fit on the screen: one page.
  void set_page(std::size_t rows);
  void select(const Selection& selection) { selection_ = selection, is_stale_ = true; }
  void show_threads(bool threads) { shows_threads_ = threads, is_stale_ = true; }
  void show_whole(bool whole) { shows_whole_ = whole, is_stale_ = true; }

  /// Sorted and filtered.
  [[nodiscard]] const RowList& list();
  /// Indexes into `list()`: the first row on the screen, and the selected row.
  [[nodiscard]] std::size_t top_row();
  [[nodiscard]] std::size_t chosen_row();

  /// "callers of Work < Main", "functions of worker [tid 12]"; empty: all functions, or all threads.
  [[nodiscard]] std::string place() const;
  [[nodiscard]] bool shows_threads() const { return shows_threads_ && levels_.empty(); }
  [[nodiscard]] bool shows_whole() const { return shows_whole_; }
  [[nodiscard]] bool is_paused() const { return paused_ != nullptr; }
  [[nodiscard]] SortKey sort_key() const { return sort_key_; }
  [[nodiscard]] const Selection& selection() const { return selection_; }
  [[nodiscard]] const std::string& filter() const { return filter_; }

 private:
  struct Counts {
    CallCounts last, whole;
  };
  /// A list that was entered: the functions of a thread, or the callers or callees of a path.
  struct Level {
    enum class Kind : std::uint8_t { thread, callers, callees };
    Kind kind = Kind::callers;
    std::uint32_t tid = 0;
    std::string thread{};             ///< its name
    std::vector<FunctionKey> path{};  ///< of callers and callees
    std::string came_from{};          ///< key of the row that was entered: selected again on the way back
  };
  static constexpr std::size_t kMostLevels = 256;

  void open(Level::Kind kind);
  void close();
  void move(std::ptrdiff_t rows);
  void make_list();
  [[nodiscard]] const CallCounts& shown() const;

  Counts counts_;
  std::unique_ptr<const Counts> paused_;  ///< copy of `counts_` at the pause; null: not paused
  Selection selection_;
  SortKey sort_key_ = SortKey::self;
  std::string filter_;
  bool shows_threads_ = false, shows_whole_ = false;
  std::vector<Level> levels_;
  std::size_t page_ = 20;

  bool is_stale_ = true;
  RowList list_;
  std::size_t top_ = 0, chosen_ = 0;
  std::string chosen_key_;  ///< the selection follows this row when the order changes; empty: stay on the first row
};

}  // namespace mixstack::top
