// Input: a recording of allocations. Output: bytes by type, and by place in the program.
// Algorithm: each sample's innermost frame is the type of its object; the frames that called it are searched outwards
// for the first one of the program's own code. Stacks are counted first, so that each is looked at once.
// Bounds: those of the recording.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/words/made_names.h"
#include "mixstack/ask_makers.h"

namespace mixstack {
namespace {

/// Bytes by name, and what else was said with each.
class Shares {
 public:
  void add(const std::string& name, const std::string& other, std::uint64_t bytes) {
    One& one = names_[name];
    one.bytes += bytes;
    if (!other.empty()) one.others[other] += bytes;
  }
  [[nodiscard]] std::vector<MakerShare> take() const {
    std::vector<MakerShare> list;
    for (const auto& [name, one] : names_) {
      const auto most = std::max_element(one.others.begin(), one.others.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      list.push_back({name, most == one.others.end() ? std::string() : most->first, one.bytes});
    }
    std::stable_sort(list.begin(), list.end(),
                     [](const MakerShare& a, const MakerShare& b) { return a.bytes > b.bytes; });
    return list;
  }

 private:
  struct One {
    std::uint64_t bytes = 0;
    std::map<std::string, std::uint64_t> others;
  };
  std::map<std::string, One> names_;
};

/// The innermost method of the program's own code; without one, the innermost one that has a name.
std::string place_of(const Recording& recording, std::uint32_t maker) {
  std::string named;
  for (std::uint32_t at = maker; at != 0; at = recording.nodes()[at].parent) {
    const std::uint32_t number = recording.frames()[recording.nodes()[at].frame].function;
    const RecordedFunction& function = recording.functions()[number];
    if (function.is_user && !function.name.empty()) return function.name;
    if (named.empty() && !function.name.empty()) named = function.name;
  }
  return named;
}

}  // namespace

void count_makers(const Recording& recording, MemoryMakers& out) {
  std::unordered_map<std::uint32_t, std::uint64_t> stacks;
  for (const Sample& sample : recording.samples())
    if (recording.contexts()[sample.context].clock == SampleClock::bytes) stacks[sample.stack] += sample.count;
  Shares types, places;
  for (const auto& [stack, bytes] : stacks) {
    if (stack == 0) continue;
    const StackNode& leaf = recording.nodes()[stack];
    const std::string name = shown_name(recording, recording.frames()[leaf.frame].function);
    if (name == kUnplaced) continue;
    out.sampled += bytes;
    const std::string type(made_type(name)), place = place_of(recording, leaf.parent);
    if (type.empty()) out.without_type += bytes;
    if (!type.empty()) types.add(type, place, bytes);
    if (!place.empty()) places.add(place, type, bytes);
  }
  out.types = types.take();
  out.places = places.take();
  out.samples = recording.facts.account.samples;
  out.source = recording.facts.source;
  out.has_samples = true;
}

}  // namespace mixstack
