#include "features/why/sample_places.h"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

namespace mixstack::why {
namespace {

struct Place {
  std::uint64_t samples = 0;
  std::map<std::uint32_t, std::uint64_t> frames;  ///< by number, with samples
};

/// The number of the frame that a stack counts for.
std::optional<std::uint32_t> frame_of(const Recording& recording, std::span<const std::uint32_t> frames) {
  std::optional<std::uint32_t> named, managed;
  for (const std::uint32_t number : frames) {
    const RecordedFunction& f = recording.functions()[recording.frames()[number].function];
    if (f.is_user && !f.name.empty()) return number;
    const bool is_other = f.kind == CodeKind::kernel || f.kind == CodeKind::runtime || f.kind == CodeKind::stub;
    if (is_other || f.name.empty()) continue;
    if (!named) named = number;
    if (!managed && f.kind == CodeKind::managed) managed = number;
  }
  return managed ? managed : named;  // `RandomAccess.WriteAtOffset` says more than `pwrite`, which it calls
}

std::string words_of(const Recording& recording, std::uint32_t function, const Place& place) {
  std::string text = shown_name(recording, function);
  std::uint64_t most = 0;
  const RecordedFrame* at = nullptr;
  for (const auto& [number, samples] : place.frames) {
    const RecordedFrame& frame = recording.frames()[number];
    if (frame.file == kNoIndex || frame.line == 0 || samples <= most) continue;
    most = samples;
    at = &frame;
  }
  if (at != nullptr) text += " at " + recording.files()[at->file] + ":" + std::to_string(at->line);
  return text;
}

}  // namespace

SamplePlace place_of_samples(const Recording& recording,
                             const std::function<bool(std::span<const std::uint32_t> frames)>& counts) {
  std::unordered_map<std::uint32_t, Place> places;  // by function
  SamplePlace found;
  for (const Sample& sample : recording.samples()) {
    const auto frames = recording.frames_of(sample.stack);
    if (!counts(frames)) continue;
    found.of += sample.count;
    const auto number = frame_of(recording, frames);
    if (!number) continue;
    Place& place = places[recording.frames()[*number].function];
    place.samples += sample.count;
    place.frames[*number] += sample.count;
  }
  const auto is_less = [](const auto& a, const auto& b) {
    return a.second.samples != b.second.samples ? a.second.samples < b.second.samples : a.first > b.first;
  };
  auto most = std::max_element(places.begin(), places.end(), is_less);
  if (most == places.end()) return found;
  // Samples whose callers were lost gather at one function of a library. A method of the program says more.
  constexpr std::uint64_t kEnough = 5;  // a fifth of the samples
  auto users = places.end();
  for (auto at = places.begin(); at != places.end(); ++at)
    if (recording.functions()[at->first].is_user && (users == places.end() || is_less(*users, *at))) users = at;
  if (users != places.end() && users->second.samples * kEnough >= found.of) most = users;
  found.samples = most->second.samples;
  found.place = words_of(recording, most->first, most->second);
  return found;
}

}  // namespace mixstack::why
