#include "session/twice_read.h"

#include <algorithm>
#include <thread>
#include <tuple>

#include "base/memory/cached_memory.h"

namespace mixstack::session {
namespace {

using dotnet::holders::HeapMoment;
using dotnet::holders::HeapRoots;
using dotnet::holders::HolderChain;
using dotnet::objects::GcHandle;
using dotnet::objects::GcRegions;

constexpr std::chrono::milliseconds kBetweenAttempts{5}, kLeastTime{1};

auto key_of(const GcHandle& h) { return std::tuple(h.at, h.kind, h.object, h.second); }

/// Leaves what both readings have.
void keep_common(HeapRoots& roots, HeapRoots&& again) {
  const auto is_less = [](const GcHandle& a, const GcHandle& b) { return key_of(a) < key_of(b); };
  std::sort(again.handles.handles.begin(), again.handles.handles.end(), is_less);
  std::erase_if(roots.handles.handles, [&](const GcHandle& h) {
    return !std::binary_search(again.handles.handles.begin(), again.handles.handles.end(), h, is_less);
  });
  std::sort(again.ready.objects.begin(), again.ready.objects.end());
  std::erase_if(roots.ready.objects, [&](Address object) {
    return !std::binary_search(again.ready.objects.begin(), again.ready.objects.end(), object);
  });
  std::erase_if(roots.threads, [&](const auto& t) {
    return std::none_of(again.threads.begin(), again.threads.end(),
                        [&](const auto& a) { return a.os_id == t.os_id && a.array == t.array; });
  });
}

}  // namespace

/// The stop in which stacks are read.
class TwiceRead::Stacks final : public HeapTask {
 public:
  Stacks(const TwiceRead& of, HeapMoment& moment) : of_(of), moment_(moment) {}
  bool prepare() override { return of_.is_quiet(); }
  [[nodiscard]] bool needs_regions() const override { return false; }
  Outcome read(const MemoryReader& still, GcRegions&& /*gc*/, Time /*end*/) override {
    if (of_.parts_.reader.collections(still) != of_.collections_) return Outcome::failed;
    of_.parts_.read_stacks(still, moment_);
    return Outcome::done;
  }
  bool walk() override { return true; }

 private:
  const TwiceRead& of_;
  HeapMoment& moment_;
};

/// The stop in which words are looked at again.
class TwiceRead::Words final : public HeapTask {
 public:
  Words(const TwiceRead& of, std::span<const HolderChain> chains) : of_(of), chains_(chains) {}
  bool prepare() override { return of_.is_quiet(); }
  [[nodiscard]] bool needs_regions() const override { return false; }
  Outcome read(const MemoryReader& still, GcRegions&& /*gc*/, Time /*end*/) override {
    if (of_.parts_.reader.collections(still) != of_.collections_) return Outcome::failed;
    holds_.assign(chains_.size(), false);
    // From here on: on a busy machine threads may take longer than that to stand still.
    const auto end = std::chrono::steady_clock::now() + std::max(of_.parts_.stops.sources().most_pause, kLeastTime);
    for (std::size_t i = 0; i < chains_.size(); i++) {
      const auto& words = chains_[i].words;
      if (std::chrono::steady_clock::now() > end) break;  // the others are not seen
      holds_[i] = chains_[i].is_whole && std::all_of(words.begin(), words.end(), [&](const auto& word) {
                    return still.read<std::uint64_t>(word.at) == word.value;
                  });
    }
    return Outcome::done;
  }
  bool walk() override { return true; }
  std::vector<bool> take() { return std::move(holds_); }

 private:
  const TwiceRead& of_;
  std::span<const HolderChain> chains_;
  std::vector<bool> holds_;
};

/// No collection has begun since the readings did.
bool TwiceRead::is_quiet() const {
  const MemoryReader& memory = parts_.stops.sources().memory;
  return !parts_.reader.is_moving(memory) && parts_.reader.collections(memory) == collections_;
}

bool TwiceRead::read_both(HeapMoment& moment) {
  const MemoryReader& memory = parts_.stops.sources().memory;
  auto gc = parts_.stops.look();
  if (!gc) return false;
  collections_ = parts_.reader.collections(memory);
  if (!collections_) {
    parts_.stops.refuse("this collector does not count its collections");
    return false;
  }
  parts_.stops.refuse("collections come while it is read");
  moment.gc = std::move(*gc);
  parts_.copy.clear();
  parts_.missing.clear();
  constexpr auto kNever = HeapTask::Time::max();
  {
    const memory::CachedMemory now(memory);
    moment.roots = parts_.reader.roots(now, parts_.missing);
  }
  if (!parts_.copy.copy(moment.gc, parts_.stops.epoch(), kNever) || !is_quiet()) return false;
  std::string why;
  if (!parts_.copy.walk(moment.gc, moment.regions, why)) {
    parts_.stops.refuse(std::move(why));
    return false;
  }
  if (!parts_.copy.compare()) return false;
  const memory::CachedMemory now(memory);
  keep_common(moment.roots, parts_.reader.roots(now, parts_.missing));
  return is_quiet();
}

std::optional<HeapMoment> TwiceRead::read() {
  for (int attempt = 0; attempt < HeapStops::kMostAttempts; attempt++) {
    if (attempt != 0) std::this_thread::sleep_for(kBetweenAttempts);
    HeapMoment moment;
    if (!parts_.prepare()) return std::nullopt;
    if (!read_both(moment)) continue;
    Stacks stacks(*this, moment);
    if (!parts_.stops.run(stacks)) moment.roots.stacks.clear();
    moment.verify = [this](std::span<const HolderChain> chains) { return verify(chains); };
    return moment;
  }
  return std::nullopt;
}

std::vector<bool> TwiceRead::verify(std::span<const HolderChain> chains) {
  Words words(*this, chains);
  return parts_.stops.run(words) ? words.take() : std::vector<bool>(chains.size());
}

}  // namespace mixstack::session
