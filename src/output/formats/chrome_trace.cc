#include "output/formats/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "output/report/escape.h"
#include "output/report/json_fields.h"

namespace mixstack::formats {
namespace {

using report::JsonObject;

/// Bounds the frames visited for events: long recordings of deep stacks would have more events than any viewer takes.
constexpr std::uint64_t kMostSteps = std::uint64_t{1} << 26;

std::string microseconds(std::uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

/// A JSON array whose elements are written one by one, with commas between them.
class Elements {
 public:
  explicit Elements(report::Writer& out) : out_(out) { out_ << '['; }
  report::Writer& next() {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    return out_;
  }
  void close() { out_ << ']'; }

 private:
  report::Writer& out_;
  bool first_ = true;
};

class TraceWriter {
 public:
  TraceWriter(report::Writer& out, const Recording& recording, const RecordingView& view)
      : out_(out), recording_(recording), view_(view) {}
  void write();

 private:
  struct Open {
    std::uint32_t node = 0;
    std::uint64_t since = 0;
  };
  /// The functions running on one thread, and the end of its last sample.
  struct Track {
    std::vector<Open> open;
    std::uint64_t until = 0;
  };
  void names(Elements& events);
  void events(Elements& events);
  void close_to(Elements& events, std::uint32_t thread, Track& track, std::size_t depth, std::uint64_t now);
  void frames();
  void samples();
  void whose(JsonObject& object, std::uint32_t thread) {
    object.number("pid", std::uint64_t{recording_.processes()[recording_.threads()[thread].process].pid});
    object.number("tid", std::uint64_t{recording_.threads()[thread].tid});
  }
  const ViewEntry& entry(std::uint32_t node) const { return view_.entries[view_.nodes[node].entry]; }

  report::Writer& out_;
  const Recording& recording_;
  const RecordingView& view_;
  bool events_end_early_ = false;
};

void TraceWriter::names(Elements& events) {
  const auto name = [&](std::string_view what, std::uint32_t thread, const std::string& text) {
    JsonObject event(events.next());
    event.word("ph", "M");
    event.word("name", what);
    whose(event, thread);
    (event.key("args") << "{\"name\":" << report::json_string(text)) << '}';
    event.close();
  };
  std::vector<bool> seen(recording_.processes().size());
  for (std::uint32_t t = 0; t < recording_.threads().size(); t++) {
    const std::uint32_t process = recording_.threads()[t].process;
    if (!seen[process]) name("process_name", t, shown_process(recording_, process));
    seen[process] = true;
    name("thread_name", t, shown_thread(recording_, t));
  }
}

void TraceWriter::close_to(Elements& events, std::uint32_t thread, Track& track, std::size_t depth, std::uint64_t now) {
  for (; track.open.size() > depth; track.open.pop_back()) {
    const Open& last = track.open.back();
    if (last.since >= now) continue;
    JsonObject event(events.next());
    event.word("ph", "X");
    event.text("name", entry(last.node).name);
    event.word("cat", word_of(entry(last.node).kind));
    whose(event, thread);
    event.key("ts") << microseconds(last.since);
    event.key("dur") << microseconds(now - last.since);
    event.close();
  }
}

void TraceWriter::events(Elements& events) {
  std::map<std::uint32_t, Track> tracks;
  const std::uint64_t period = std::max<std::uint64_t>(view_.period_ns, 1);
  std::vector<std::uint32_t> way;
  std::uint64_t steps = 0;
  for (const ViewSample& sample : view_.samples) {
    events_end_early_ = steps > kMostSteps;
    if (events_end_early_) break;
    const std::uint32_t thread = recording_.contexts()[sample.context].thread;
    Track& track = tracks[thread];
    // A sample that is late by up to half a period continues the functions before it.
    if (sample.time_ns > track.until + period / 2) close_to(events, thread, track, 0, track.until);
    way.clear();
    for (std::uint32_t n = sample.node; n != 0; n = view_.nodes[n].parent) way.push_back(n);
    std::reverse(way.begin(), way.end());
    steps += way.size();
    std::size_t same = 0;
    while (same < std::min(way.size(), track.open.size()) && track.open[same].node == way[same]) same++;
    close_to(events, thread, track, same, sample.time_ns);
    for (std::size_t i = same; i < way.size(); i++) track.open.push_back({way[i], sample.time_ns});
    const std::uint64_t length = view_.is_of_bytes() ? 1 : view_.weight(sample.count);  // bytes take no time
    track.until = std::max(track.until, sample.time_ns + std::min(length, UINT64_MAX - sample.time_ns));
  }
  for (auto& [thread, track] : tracks) close_to(events, thread, track, 0, track.until);
}

void TraceWriter::frames() {
  JsonObject frames(out_);
  for (std::uint32_t n = 1; n < view_.nodes.size(); n++) {
    out_ << (n == 1 ? "\n" : "");
    frames.key(std::to_string(n));
    JsonObject frame(out_);
    frame.text("name", entry(n).name);
    frame.word("category", word_of(entry(n).kind));
    if (view_.nodes[n].parent != 0) frame.word("parent", std::to_string(view_.nodes[n].parent));
    frame.close();
    out_ << '\n';
  }
  frames.close();
}

void TraceWriter::samples() {
  report::json_array(out_, view_.samples, "\n", [&](const ViewSample& sample) {
    const SampleContext& context = recording_.contexts()[sample.context];
    JsonObject object(out_);
    object.number("cpu", std::uint64_t{0});
    whose(object, context.thread);
    object.key("ts") << microseconds(sample.time_ns);
    object.word("name", word_of(context.clock));
    object.word("sf", std::to_string(sample.node));
    object.number("weight", std::uint64_t{sample.count});
    object.close();
  });
}

void TraceWriter::write() {
  JsonObject document(out_);
  document.word("displayTimeUnit", "ms");
  document.key("traceEvents");
  Elements list(out_);
  names(list);
  events(list);
  list.close();
  document.key("stackFrames");
  frames();
  document.key("samples");
  samples();
  document.key("otherData");
  {
    JsonObject other(out_);
    other.text("recorded by", shown_recorder(recording_));
    if (events_end_early_) other.word("traceEvents", "end early: too many; samples has all");
    for (std::size_t i = 0; i < recording_.facts.notes.size(); i++)
      other.text("note " + std::to_string(i + 1), recording_.facts.notes[i]);
    other.close();
  }
  document.close();
  out_ << '\n';
}

}  // namespace

void write_chrome_trace(report::Writer& out, const Recording& recording, const ProfileOptions& options) {
  ProfileOptions merged = options;
  merged.by_thread = merged.by_process = false;  // events have both
  const RecordingView view = view_of(recording, merged);
  TraceWriter(out, recording, view).write();
}

}  // namespace mixstack::formats
