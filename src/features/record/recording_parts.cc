#include "features/record/recording_parts.h"

#include <utility>

namespace mixstack::record {

bool RecordingParts::is_last() const {
  return options_.length.count() == 0 || (options_.duration.count() != 0 && options_.duration <= options_.length);
}

Recordings& RecordingParts::make() {
  now_ = std::make_unique<Recordings>(options_.recordings);
  return *now_;
}

RecordingParts::Reopened RecordingParts::open_again() {
  Reopened reopened;
  for (const std::uint32_t pid : found()) {
    auto session = options_.recordings.open_process(pid);
    const auto begun = session ? now_->begin(std::move(*session))
                               : tl::expected<void, NotOpened>(tl::unexpected(NotOpened{session.error()}));
    reopened.is_any = reopened.is_any || begun;
    if (begun) continue;
    if (!options_.has_gone(begun.error().error, pid)) {
      reopened.failed_pid = pid;
      reopened.fault = begun.error();
      return reopened;
    }
    std::erase(options_.pids, pid);
    reopened.ended.push_back(pid);
  }
  return reopened;
}

std::unique_ptr<Recordings> RecordingParts::open_next() const {
  if (!now_->can_overlap()) return nullptr;
  auto next = std::make_unique<Recordings>(options_.recordings);
  const auto pids = options_.find ? options_.find() : now_->living();
  for (const std::uint32_t pid : pids) {
    auto session = options_.recordings.open_process(pid);
    // It is opened again after the current part; an error is reported then.
    if (!session || !next->begin(std::move(*session))) return nullptr;
  }
  // Two at once may exceed a limit of the kernel and fall back to a worse source: then open it later instead.
  if (pids.empty() || next->source_words() != now_->source_words()) return nullptr;
  return next;
}

void RecordingParts::prepare_next(std::uint64_t left_ns) {
  constexpr std::uint64_t kAhead = 1'000'000'000, kTooLate = 150'000'000;
  if (left_ns > kAhead || left_ns < kTooLate) return;
  if (!has_tried_next_) {
    next_ = open_next();
  } else if (next_) {
    next_->stay_warm();
  }
  has_tried_next_ = true;
}

RunEnd RecordingParts::run(RunHooks hooks) {
  if (!is_last()) hooks.before = [this](std::uint64_t left_ns) { prepare_next(left_ns); };
  return now_->run(this_length(), hooks);
}

std::vector<std::uint32_t> RecordingParts::finish(RunEnd end, bool notes) {
  const bool goes_on = end == RunEnd::time && !is_last();
  if (!goes_on) next_.reset();
  has_tried_next_ = false;
  if (next_) {
    const auto left = options_.duration.count() == 0 ? options_.duration : options_.duration - options_.length;
    const bool is_next_last = left.count() != 0 && left <= options_.length;
    next_->start_where(*now_, is_next_last ? left : options_.length);
  }
  std::vector<std::uint32_t> living = now_->living();
  now_->finish();
  if (notes) note_ends(end == RunEnd::process);
  return living;
}

void RecordingParts::advance(const std::vector<std::uint32_t>& living) {
  for (const std::uint32_t pid : told_) std::erase(options_.pids, pid);
  if (!living.empty()) options_.pids = living;
  if (options_.duration.count() != 0) options_.duration -= options_.length;
  options_.recordings.has_launched = false;
  number_++;
  now_ = std::move(next_);
}

void RecordingParts::note_ends(bool is_the_end) {
  auto& notes = now_->shared().recording.facts.notes;
  const bool are_several = now_->shared().recording.processes().size() > 1;
  for (const auto& [pid, words] : now_->gone())
    if (told_.insert(pid).second && are_several) notes.push_back(words + " ended while it was recorded");
  if (is_the_end && !are_several && now_->failure().first.code == ErrorCode::none)
    notes.emplace_back("the process ended while it was recorded");
}

}  // namespace mixstack::record
