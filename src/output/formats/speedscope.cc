#include "output/formats/speedscope.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "output/report/escape.h"
#include "output/report/json_fields.h"

namespace mixstack::formats {
namespace {

using report::JsonObject;

constexpr std::uint64_t kMostPlaces = 20'000'000;

struct Weighted {
  std::uint32_t node = 0;
  std::uint64_t count = 0;
};

struct OneProfile {
  std::string name;
  std::vector<Weighted> stacks;
};

std::vector<std::uint32_t> depths_of(const RecordingView& view) {
  std::vector<std::uint32_t> depths(view.nodes.size());
  for (std::size_t n = 1; n < depths.size(); n++) depths[n] = depths[view.nodes[n].parent] + 1;
  return depths;
}

/// Merges successive samples of equal stacks.
void add_sample(std::vector<Weighted>& stacks, const ViewSample& sample) {
  if (!stacks.empty() && stacks.back().node == sample.node) {
    stacks.back().count += sample.count;
  } else {
    stacks.push_back({sample.node, sample.count});
  }
}

std::vector<OneProfile> profiles_of(const Recording& recording, const RecordingView& view, bool by_thread,
                                    const std::string& all) {
  std::map<std::uint32_t, OneProfile> profiles;
  for (const ViewSample& sample : view.samples) {
    const std::uint32_t thread = by_thread ? recording.contexts()[sample.context].thread : 0;
    add_sample(profiles[thread].stacks, sample);
  }
  std::vector<OneProfile> list;
  for (auto& [thread, profile] : profiles) {
    profile.name = by_thread ? shown_thread(recording, thread) : all;
    list.push_back(std::move(profile));
  }
  if (list.empty()) list.push_back({all, {}});
  return list;
}

void put_together(OneProfile& profile) {
  std::map<std::uint32_t, std::uint64_t> counts;
  for (const Weighted& stack : profile.stacks) counts[stack.node] += stack.count;
  profile.stacks.clear();
  for (const auto& [node, count] : counts) profile.stacks.push_back({node, count});
  std::stable_sort(profile.stacks.begin(), profile.stacks.end(),
                   [](const Weighted& a, const Weighted& b) { return a.count > b.count; });
  profile.name += " (not in order of time)";
}

void write_stack(report::Writer& out, const RecordingView& view, std::uint32_t node) {
  std::vector<std::uint32_t> way;
  for (; node != 0; node = view.nodes[node].parent) way.push_back(view.nodes[node].entry);
  std::reverse(way.begin(), way.end());
  report::json_array(out, way, "", [&out](std::uint32_t entry) { out.decimal(std::uint64_t{entry}); });
}

void write_profile(report::Writer& out, const RecordingView& view, const OneProfile& profile) {
  std::uint64_t sum = 0;
  for (const Weighted& stack : profile.stacks) sum += stack.count;
  JsonObject object(out);
  object.word("type", "sampled");
  object.text("name", profile.name);
  object.word("unit", view.is_of_bytes() ? "bytes" : view.period_ns == 0 ? "none" : "nanoseconds");
  object.number("startValue", std::uint64_t{0});
  object.number("endValue", view.weight(sum));
  object.key("samples");
  report::json_array(out, profile.stacks, "\n", [&](const Weighted& stack) { write_stack(out, view, stack.node); });
  object.key("weights");
  report::json_array(out, profile.stacks, "", [&](const Weighted& stack) { out.decimal(view.weight(stack.count)); });
  object.close();
}

void write_frame(report::Writer& out, const Recording& recording, const ViewEntry& entry) {
  JsonObject object(out);
  object.text("name", entry.name);
  if (entry.function != kNoIndex) {
    const std::uint32_t module = recording.functions()[entry.function].module;
    if (module != kNoIndex) object.text("file", recording.modules()[module].name);
  }
  object.close();
}

}  // namespace

void write_speedscope(report::Writer& out, const Recording& recording, const ProfileOptions& options) {
  ProfileOptions without_threads = options;
  without_threads.by_thread = false;
  const RecordingView view = view_of(recording, without_threads);
  const std::string all = recording.processes().empty() ? "all threads" : shown_processes(recording);
  std::vector<OneProfile> profiles = profiles_of(recording, view, options.by_thread, all);
  const auto depths = depths_of(view);
  std::uint64_t places = 0;
  for (const OneProfile& profile : profiles)
    for (const Weighted& stack : profile.stacks) places += depths[stack.node];
  if (places > kMostPlaces) std::for_each(profiles.begin(), profiles.end(), put_together);
  JsonObject document(out);
  document.word("$schema", "https://www.speedscope.app/file-format-schema.json");
  document.text("exporter", shown_recorder(recording));
  document.text("name", all);
  document.number("activeProfileIndex", std::uint64_t{0});
  document.key("shared");
  {
    JsonObject shared(out);
    shared.key("frames");
    report::json_array(out, view.entries, "\n", [&](const ViewEntry& entry) { write_frame(out, recording, entry); });
    shared.close();
  }
  document.key("profiles");
  report::json_array(out, profiles, "\n", [&](const OneProfile& profile) { write_profile(out, view, profile); });
  document.close();
  out << '\n';
}

}  // namespace mixstack::formats
