#include "features/top/browser.h"

#include <algorithm>

namespace mixstack::top {
namespace {

/// The key that finds a row again after the list was made anew.
std::string key_of(const Row& row) {
  if (row.tid != 0) return "t" + std::to_string(row.tid);
  return (row.is_end ? "e" : "f" + std::to_string(static_cast<int>(row.kind))) + row.name;
}

template <class Enum>
Enum next_of(Enum value, Enum last) {
  return value == last ? Enum{} : static_cast<Enum>(static_cast<int>(value) + 1);
}

template <class Enum>
Enum previous_of(Enum value, Enum last) {
  return value == Enum{} ? last : static_cast<Enum>(static_cast<int>(value) - 1);
}

}  // namespace

void Browser::add(const Recording& recording, const RecordingView& view) {
  counts_.last = CallCounts();
  counts_.last.add(recording, view);
  counts_.whole.add(recording, view);
  if (!paused_) is_stale_ = true;
}

const CallCounts& Browser::shown() const {
  const Counts& counts = paused_ ? *paused_ : counts_;
  return shows_whole_ ? counts.whole : counts.last;
}

void Browser::press(Command command) {
  const auto page = static_cast<std::ptrdiff_t>(page_);
  switch (command) {
    case Command::up:
      return move(-1);
    case Command::down:
      return move(1);
    case Command::page_up:
      return move(-page);
    case Command::page_down:
      return move(page);
    case Command::first:
      return move(-static_cast<std::ptrdiff_t>(list().rows.size()));
    case Command::last:
      return move(static_cast<std::ptrdiff_t>(list().rows.size()));
    case Command::enter:
      return open(shows_threads() ? Level::Kind::thread : Level::Kind::callers);
    case Command::callees:
      return open(Level::Kind::callees);
    case Command::back:
      return close();
    case Command::threads:
      shows_threads_ = !shows_threads();
      levels_.clear();
      chosen_key_.clear();
      break;
    case Command::states:
      selection_.states = next_of(selection_.states, kLastStateFilter);
      break;
    case Command::idle:
      selection_.idle = !selection_.idle;
      break;
    case Command::sort_next:
      sort_key_ = next_of(sort_key_, kLastSortKey);
      break;
    case Command::sort_previous:
      sort_key_ = previous_of(sort_key_, kLastSortKey);
      break;
    case Command::whole:
      shows_whole_ = !shows_whole_;
      break;
    case Command::pause:
      paused_ = paused_ ? nullptr : std::make_unique<const Counts>(counts_);
      break;
    case Command::reset:
      counts_ = Counts();
      if (paused_) paused_ = std::make_unique<const Counts>();
      break;
  }
  is_stale_ = true;
}

void Browser::set_filter(std::string pattern) {
  filter_ = std::move(pattern);
  is_stale_ = true;
}

void Browser::set_page(std::size_t rows) {
  page_ = std::max<std::size_t>(rows, 1);
  is_stale_ = true;
}

void Browser::open(Level::Kind kind) {
  if (list().rows.empty() || levels_.size() >= kMostLevels) return;
  const Row& row = list_.rows[chosen_];
  const bool is_thread = kind == Level::Kind::thread;
  // A thread opens its functions only, a function its callers or callees; the end of a stack opens nothing.
  if (row.is_end || is_thread != shows_threads()) return;
  Level next{.kind = kind, .tid = row.tid, .thread = row.name, .came_from = key_of(row)};
  if (!is_thread) {
    next.tid = levels_.empty() ? 0 : levels_.back().tid;
    next.thread = levels_.empty() ? "" : levels_.back().thread;
    // The same direction extends the path; the other one starts a new path at this function.
    if (!levels_.empty() && levels_.back().kind == kind) next.path = levels_.back().path;
    next.path.push_back({row.name, row.kind});
  }
  levels_.push_back(std::move(next));
  chosen_key_.clear();
  chosen_ = top_ = 0;
  is_stale_ = true;
}

void Browser::close() {
  if (levels_.empty()) return;
  chosen_key_ = levels_.back().came_from;
  levels_.pop_back();
  is_stale_ = true;
}

void Browser::move(std::ptrdiff_t rows) {
  const auto size = static_cast<std::ptrdiff_t>(list().rows.size());
  if (size == 0) return;
  const auto to = std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(chosen_) + rows, 0, size - 1);
  chosen_ = static_cast<std::size_t>(to);
  // On the first row no key is kept, so that the selection stays on the first row when the order changes.
  chosen_key_ = chosen_ == 0 ? std::string() : key_of(list_.rows[chosen_]);
  is_stale_ = true;
}

void Browser::make_list() {
  Selection selection = selection_;
  const Level* level = levels_.empty() ? nullptr : &levels_.back();
  if (level != nullptr) selection.tid = level->tid;
  if (level == nullptr && shows_threads_) {
    list_ = threads_of(shown(), selection);
  } else if (level == nullptr || level->kind == Level::Kind::thread) {
    list_ = functions_of(shown(), selection);
  } else {
    list_ = (level->kind == Level::Kind::callers ? callers_of : callees_of)(shown(), selection, level->path);
  }
  filter_rows(list_.rows, filter_);
  // Callers have hardly any self time here, so sorting them by it would be random.
  const bool by_total = level != nullptr && !level->path.empty() && sort_key_ == SortKey::self;
  sort_rows(list_.rows, by_total ? SortKey::total : sort_key_);
  const auto& rows = list_.rows;
  if (chosen_key_.empty()) {
    chosen_ = 0;
  } else {
    const auto at = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return key_of(row) == chosen_key_; });
    if (at != rows.end()) chosen_ = static_cast<std::size_t>(at - rows.begin());
    chosen_ = std::min(chosen_, rows.empty() ? 0 : rows.size() - 1);
  }
  const std::size_t last_top = rows.size() > page_ ? rows.size() - page_ : 0;
  top_ = std::min({top_, chosen_, last_top});
  if (chosen_ >= top_ + page_) top_ = chosen_ - page_ + 1;
  is_stale_ = false;
}

const RowList& Browser::list() {
  if (is_stale_) make_list();
  return list_;
}

std::size_t Browser::top_row() {
  (void)list();
  return top_;
}

std::size_t Browser::chosen_row() {
  (void)list();
  return chosen_;
}

std::string Browser::place() const {
  if (levels_.empty()) return {};
  const Level& level = levels_.back();
  const std::string thread = level.tid == 0 ? std::string() : level.thread;
  if (level.kind == Level::Kind::thread) return "functions of " + thread;
  const bool is_callers = level.kind == Level::Kind::callers;
  std::string text = is_callers ? "callers of " : "callees of ";
  for (std::size_t i = 0; i < level.path.size(); i++)
    text += (i == 0 ? "" : is_callers ? " < " : " > ") + level.path[i].name;
  return thread.empty() ? text : text + ", in " + thread;
}

}  // namespace mixstack::top
