#include "mixstack/recording.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace mixstack {
namespace {

class Mixer {
 public:
  template <class T>
  Mixer& operator<<(const T& value) {
    // 64-bit finaliser constant of splitmix64: spreads small integers over the whole word.
    state_ = (state_ ^ std::hash<T>{}(value)) * 0xbf58476d1ce4e5b9u;
    state_ ^= state_ >> 29;
    return *this;
  }
  [[nodiscard]] std::size_t result() const { return state_; }

 private:
  std::size_t state_ = 0x9e3779b97f4a7c15u;
};

template <class Key, class Numbers>
std::optional<std::uint32_t> number_of(const Key& key, std::vector<Key>& list, Numbers& numbers, std::size_t most) {
  if (const auto known = numbers.find(key); known != numbers.end()) return known->second;
  if (list.size() >= most) return std::nullopt;
  const auto number = static_cast<std::uint32_t>(list.size());
  list.push_back(key);
  numbers.emplace(key, number);
  return number;
}

}  // namespace

std::string_view word_of(CodeKind kind) {
  constexpr std::string_view kWords[] = {"managed", "native", "runtime", "kernel", "stub", "unknown"};
  return kWords[static_cast<std::size_t>(std::min(kind, kLastCodeKind))];
}

std::string_view word_of(Activity activity) {
  constexpr std::string_view kWords[] = {"running", "runnable", "waiting", "blocked", "unknown"};
  return kWords[static_cast<std::size_t>(std::min(activity, kLastActivity))];
}

std::string_view word_of(GcMode mode) {
  constexpr std::string_view kWords[] = {"unknown", "cooperative", "preemptive"};
  return kWords[static_cast<std::size_t>(std::min(mode, kLastGcMode))];
}

std::string_view word_of(SampleClock clock) {
  constexpr std::string_view kWords[] = {"cpu", "wall", "bytes"};
  return kWords[static_cast<std::size_t>(std::min(clock, kLastSampleClock))];
}

template <>
std::size_t Recording::Hash<std::string>::operator()(const std::string& key) const {
  return std::hash<std::string>{}(key);
}
template <>
std::size_t Recording::Hash<RecordedModule>::operator()(const RecordedModule& key) const {
  return (Mixer() << key.name << key.path << key.build_id).result();
}
template <>
std::size_t Recording::Hash<RecordedFunction>::operator()(const RecordedFunction& key) const {
  return (Mixer() << key.name << key.raw_name << key.module << static_cast<int>(key.kind) << key.is_user).result();
}
template <>
std::size_t Recording::Hash<RecordedFrame>::operator()(const RecordedFrame& key) const {
  return (Mixer() << key.function << key.line << key.file << static_cast<int>(key.inlining)
                  << static_cast<int>(key.trust) << key.address)
      .result();
}
template <>
std::size_t Recording::Hash<StackNode>::operator()(const StackNode& key) const {
  return (Mixer() << (std::uint64_t{key.parent} << 32 | key.frame)).result();
}
template <>
std::size_t Recording::Hash<SampleContext>::operator()(const SampleContext& key) const {
  return (Mixer() << key.thread << static_cast<int>(key.clock) << static_cast<int>(key.activity)
                  << static_cast<int>(key.gc_mode) << key.gc_pending << static_cast<int>(key.stop) << key.system_call)
      .result();
}

Recording::Recording() : nodes_(1), depths_(1) {}

std::uint64_t Recording::period_ns(SampleClock clock) const {
  if (clock == SampleClock::bytes) return 0;
  const std::uint32_t hertz = clock == SampleClock::cpu ? facts.cpu_hertz : facts.wall_hertz;
  return hertz == 0 ? 0 : 1'000'000'000u / hertz;
}

std::optional<std::uint32_t> Recording::process(const RecordedProcess& process) {
  for (std::uint32_t i = 0; i < processes_.size(); i++)
    if (processes_[i].pid == process.pid) return i;
  if (processes_.size() >= kMostThreads) return std::nullopt;
  processes_.push_back(process);
  return static_cast<std::uint32_t>(processes_.size() - 1);
}

std::optional<std::uint32_t> Recording::module(const RecordedModule& module) {
  return number_of(module, modules_, module_numbers_, kMostFunctions);
}

std::optional<std::uint32_t> Recording::file(const std::string& path) {
  return number_of(path, files_, file_numbers_, kMostFunctions);
}

std::optional<std::uint32_t> Recording::function(const RecordedFunction& function) {
  if (function.module != kNoIndex && function.module >= modules_.size()) return std::nullopt;
  return number_of(function, functions_, function_numbers_, kMostFunctions);
}

std::optional<std::uint32_t> Recording::frame(const RecordedFrame& frame) {
  if (frame.function >= functions_.size() || (frame.file != kNoIndex && frame.file >= files_.size()))
    return std::nullopt;
  return number_of(frame, frames_, frame_numbers_, kMostFrames);
}

std::optional<std::uint32_t> Recording::node(StackNode node) {
  if (node.parent >= nodes_.size() || node.frame >= frames_.size() || depths_[node.parent] >= kMostBelow)
    return std::nullopt;
  const auto number = number_of(node, nodes_, node_numbers_, kMostNodes);
  if (number && *number == depths_.size()) depths_.push_back(depths_[node.parent] + 1);
  return number;
}

std::optional<std::uint32_t> Recording::context(const SampleContext& context) {
  if (context.thread >= threads_.size()) return std::nullopt;
  return number_of(context, contexts_, context_numbers_, kMostContexts);
}

std::optional<std::uint32_t> Recording::add_thread(const RecordedThread& thread) {
  if (thread.process >= processes_.size() || threads_.size() >= kMostThreads) return std::nullopt;
  threads_.push_back(thread);
  return static_cast<std::uint32_t>(threads_.size() - 1);
}

bool Recording::add(const Sample& sample) {
  if (sample.stack >= nodes_.size() || sample.context >= contexts_.size() || sample.count == 0) return false;
  if (samples_.size() >= 4 * kMostSamples) return false;
  samples_.push_back(sample);
  samples_.back().time_ns -= sample.time_ns % slice_ns_;
  if (keeps_fresh_) fresh_.push_back(sample);
  if (samples_.size() >= room_) make_room();
  if (fresh_.size() >= fresh_room_) make_room_for_fresh();
  return true;
}

/// Merges samples of equal stack and context. Their times are not needed: a piece that is sent has one time.
void Recording::make_room_for_fresh() {
  std::unordered_map<std::uint64_t, std::size_t> places;
  std::size_t kept = 0;
  for (const Sample& next : std::vector<Sample>(std::exchange(fresh_, {}))) {
    const auto [place, is_new] = places.try_emplace(std::uint64_t{next.context} << 32 | next.stack, kept);
    if (!is_new && fresh_[place->second].count <= 0xffffffffu - next.count) {
      fresh_[place->second].count += next.count;
      continue;
    }
    place->second = kept++;
    fresh_.push_back(next);
  }
  fresh_room_ = std::max(kMostSamples, 2 * fresh_.size());
}

void Recording::make_room() {
  constexpr std::uint64_t kLongest = std::uint64_t{1} << 50;  // 13 days: longer than recordings
  std::uint64_t slice = std::max<std::uint64_t>(slice_ns_ * 2, 1'000'000);
  for (; samples_.size() > kMostSamples / 2 && slice <= kLongest; slice *= 2) make_coarser(slice);
  room_ = std::max(kMostSamples, 2 * samples_.size());
}

void Recording::sort_samples() {
  std::sort(samples_.begin(), samples_.end(), [](const Sample& a, const Sample& b) {
    return std::tie(a.time_ns, a.context, a.stack) < std::tie(b.time_ns, b.context, b.stack);
  });
}

void Recording::make_coarser(std::uint64_t slice_ns) {
  slice_ns_ = std::max<std::uint64_t>(slice_ns, 1);
  for (Sample& sample : samples_) sample.time_ns -= sample.time_ns % slice_ns_;
  sort_samples();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < samples_.size(); i++) {
    const Sample& next = samples_[i];
    if (kept > 0) {
      Sample& last = samples_[kept - 1];
      const bool fits = last.count <= 0xffffffffu - next.count;
      if (last.time_ns == next.time_ns && last.stack == next.stack && last.context == next.context && fits) {
        last.count += next.count;
        continue;
      }
    }
    samples_[kept++] = next;
  }
  samples_.resize(kept);
}

void Recording::forget_samples() {
  samples_.clear();
  slice_ns_ = 1;
  room_ = kMostSamples;
}

std::vector<std::uint32_t> Recording::frames_of(std::uint32_t stack) const {
  std::vector<std::uint32_t> list;
  for (std::uint32_t at = stack; at != 0 && at < nodes_.size(); at = nodes_[at].parent)
    list.push_back(nodes_[at].frame);
  return list;
}

std::string shown_name(const Recording& recording, std::uint32_t function) {
  const RecordedFunction& f = recording.functions()[function];
  if (!f.name.empty()) return f.name;
  if (f.module != kNoIndex && !recording.modules()[f.module].name.empty())
    return "[" + recording.modules()[f.module].name + "]";
  return "[unknown]";
}

bool repeats_unnamed(const Recording& recording, std::uint32_t node) {
  const StackNode& n = recording.nodes()[node];
  if (node == 0 || n.parent == 0) return false;
  const std::uint32_t function = recording.frames()[n.frame].function;
  return recording.functions()[function].name.empty() &&
         recording.frames()[recording.nodes()[n.parent].frame].function == function;
}

}  // namespace mixstack
