#include "features/record/sample_walker.h"

#include <algorithm>
#include <utility>

namespace mixstack::record {

void SampleWalker::note_mapped(SampleBatch& batch) {
  for (const CodeMapping& code : batch.mapped)
    for (const AddressRange& part : known_code_.learn(code))
      changes_.add({code.time_ns, part, code.inode, code.file_offset});
  if (!batch.mapped.empty()) mappings_.list = nullptr;
  batch.mapped.clear();
  told_until_ns_ = std::max(told_until_ns_, batch.mapped_until_ns);
}

bool SampleWalker::is_ahead_of_reports(std::uint64_t until_ns) const {
  return mappings_are_told_ && std::max(until_ns, mappings_.end_ns) > told_until_ns_;
}

bool SampleWalker::may_be_renewed() const {
  return is_shared() && !changes_.empty() && monotonic_ns() - made_ns_ >= kLeastLife;
}

bool SampleWalker::is_newer_code(CodeAddress place, Taken taken) const {
  return changes_.touch(place.lookup(), mappings_.begin_ns, taken.until_ns);
}

bool SampleWalker::is_other_code(CodeAddress place, Taken taken) const {
  return is_newer_code(place, taken) || changes_.touch(place.lookup(), taken.from_ns, mappings_.end_ns);
}

/// The last walker's mappings of code serve once more unless a source has reported a change. A stop has read its own,
/// when it took place.
void SampleWalker::choose_mappings(std::shared_ptr<const std::vector<Region>>& regions, State wanted, Taken taken) {
  using enum Mappings::Origin;
  const std::uint64_t now = monotonic_ns();
  const bool are_true = mappings_are_told_ && mappings_.list != nullptr && now - mappings_.begin_ns < kMappingsLife;
  if (regions)
    mappings_.origin = of_stop;
  else
    mappings_.origin = are_true && wanted == State::of_samples ? lent : read;
  if (mappings_.origin == lent) regions = mappings_.list;
  if (mappings_.origin != lent) mappings_.begin_ns = mappings_.origin == of_stop ? std::min(taken.from_ns, now) : now;
}

Result<void> SampleWalker::keep(Result<Walker> made, State wanted, Taken taken) {
  if (!made) return fail(made.error());
  walker_.emplace(std::move(*made));
  state_ = wanted;
  mappings_.list = walker_->regions();
  const bool is_first = made_ns_ == 0;
  made_ns_ = monotonic_ns();
  if (mappings_.origin != Mappings::Origin::lent)
    mappings_.end_ns = mappings_.origin == Mappings::Origin::of_stop ? std::min(taken.until_ns, made_ns_) : made_ns_;
  // The code that is there at the start: otherwise the first report of a mapping that grows would mean new code.
  if (is_first)
    for (const Region& region : *mappings_.list)
      if (region.executable) (void)known_code_.learn({0, region.range, region.inode, region.file_offset});
  const auto runtimes = walker_->runtimes();
  gc_pending_ = std::any_of(runtimes.begin(), runtimes.end(),
                            [](const dotnet::Runtime& runtime) { return runtime.summary().suspension.has_value(); });
  return {};
}

Result<void> SampleWalker::make(Capture capture, Taken taken) {
  const State wanted = capture.consistency == Consistency::not_stopped ? State::of_samples : State::of_stop;
  choose_mappings(capture.regions, wanted, taken);
  const std::lock_guard lock(session_.mutex);
  state_ = State::none;
  walker_.reset();  // frees its caches first
  WalkOptions options;
  options.max_frames = max_frames_;
  return keep(session_.session->walker(std::move(capture), options), wanted, taken);
}

bool SampleWalker::renew() {
  mappings_.list = nullptr;
  WalkContext context;
  choose_mappings(context.regions, State::of_samples, {});
  const std::lock_guard lock(session_.mutex);
  state_ = State::none;
  walker_.reset();
  WalkOptions options;
  options.max_frames = max_frames_;
  return keep(session_.session->walker_of(std::move(context), options), State::of_samples, {}).has_value();
}

}  // namespace mixstack::record
