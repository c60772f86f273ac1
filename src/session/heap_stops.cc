#include "session/heap_stops.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/memory/cached_memory.h"
#include "dotnet/heap/page_store.h"
#include "session/stop_words.h"

namespace mixstack::session {
namespace {

using dotnet::objects::GcRegions;
using Outcome = HeapTask::Outcome;
using std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestWait{5};
constexpr std::chrono::microseconds kPoll{300};
constexpr std::chrono::milliseconds kBetweenAttempts{3};

}  // namespace

std::string words_of_end(dotnet::objects::RegionCount::End end, Address at, HeapGeneration generation) {
  using End = dotnet::objects::RegionCount::End;
  const char* why = end == End::unreadable ? "cannot be read"
                    : end == End::no_type  ? "has no known type"
                                           : "does not end where its region does";
  return fmt::format("the object at {:#x} of generation {} {}", at, generation_name(generation), why);
}

bool HeapStops::wait_for_quiet() const {
  const auto begin = steady_clock::now();
  while (sources_.collector.is_moving(sources_.memory)) {
    if (steady_clock::now() - begin > kLongestWait) return false;
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

std::optional<GcRegions> HeapStops::look() {
  for (int tries = 0; tries < kMostTries; tries++) {
    if (!wait_for_quiet()) {
      why_ = "a garbage collection did not end";
      return std::nullopt;
    }
    const memory::CachedMemory now(sources_.memory);
    auto gc = sources_.collector.regions(now);
    if (gc) return std::move(*gc);
    why_ = gc.error().text;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> HeapStops::epoch_in_stop(const MemoryReader& still) const {
  return noted_at_ && noted_at_ == sources_.collector.collections(still) ? noted_epoch_ : epoch();
}

Outcome HeapStops::stop(HeapTask& task) {
  const auto begin = steady_clock::now();
  auto hold = sources_.stop(sources_.most_pause);
  if (!hold) {
    // Its other threads stood still while the last one was waited for.
    pause_ = std::max(pause_, std::chrono::nanoseconds(steady_clock::now() - begin));
    why_ = why_not_stopped(hold.error());
    return Outcome::failed;
  }
  stops_++;
  const auto read = [&] {
    const dotnet::objects::PageStore still(sources_.memory);
    if (sources_.collector.is_moving(still)) return Outcome::moving;
    if (!task.needs_regions()) return task.read(still, {}, begin + sources_.most_pause);
    auto gc = sources_.collector.regions(still);
    if (!gc) {
      why_ = gc.error().text;
      return Outcome::failed;
    }
    note_sweep(sources_.collector.sweeps(still));
    return task.read(still, std::move(*gc), begin + sources_.most_pause);
  };
  const Outcome outcome = read();
  hold->reset();
  pause_ = std::max(pause_, std::chrono::nanoseconds(steady_clock::now() - begin));
  return outcome;
}

std::string HeapStops::why_not_stopped(const Error& error) const {
  if (error.code != ErrorCode::thread_not_stopped) return stop_words(error);
  return fmt::format("thread {} did not stop within {} ms (--most-pause)", error.value, sources_.most_pause.count());
}

bool HeapStops::run(HeapTask& task) {
  for (int attempt = 0; attempt < kMostAttempts && stops_ < kMostStops; attempt++) {
    sweeps_ = was_late_ = false;
    // After a long stop the process runs for as long again.
    if (attempt != 0) std::this_thread::sleep_for(std::max<std::chrono::nanoseconds>(kBetweenAttempts, pause_));
    if (!task.prepare()) return false;
    Outcome outcome = Outcome::moving;
    while (outcome == Outcome::moving && stops_ < kMostStops) {
      if (!wait_for_quiet()) break;
      const auto before = sources_.collector.collections(sources_.memory);
      noted_epoch_ = epoch();
      noted_at_ = before == sources_.collector.collections(sources_.memory) ? before : std::nullopt;
      outcome = stop(task);
    }
    if (outcome == Outcome::done && task.walk()) return true;
    if (outcome == Outcome::moving) why_ = "a garbage collection was under way at each stop";
    if (outcome != Outcome::late) continue;
    why_ = fmt::format("the stop would have lasted longer than {} ms (--most-pause)", sources_.most_pause.count());
    was_late_ = true;
  }
  return false;
}

}  // namespace mixstack::session
