#include "output/formats/pprof.h"

#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <set>
#include <vector>

#include "output/formats/gzip_stream.h"
#include "output/formats/pprof_tables.h"
#include "output/report/escape.h"
#include "output/report/words.h"

namespace mixstack::formats {
namespace {

// Field numbers of profile.proto.
constexpr std::uint32_t kSampleLocations = 1, kSampleValues = 2, kSampleLabels = 3;
constexpr std::uint32_t kLabelKey = 1, kLabelText = 2, kLabelNumber = 3;
constexpr std::uint32_t kTypeType = 1, kTypeUnit = 2;

/// Samples with equal keys are merged.
struct Alike {
  std::uint32_t node = 0, thread = 0;
  SampleClock clock = SampleClock::wall;
  Activity activity = Activity::unknown;
  bool gc_pending = false;
  friend auto operator<=>(const Alike&, const Alike&) = default;  // NOLINT(modernize-use-nullptr): of its own code
};

class PprofWriter {
 public:
  PprofWriter(report::Writer& out, const Recording& recording, const ProfileOptions& options)
      : gzip_(out), recording_(recording), options_(options) {}
  void write();

 private:
  void type(std::uint32_t field, PprofTables& tables, std::string_view type, std::string_view unit);
  void header(PprofTables& tables);
  void samples(const RecordingView& view, PprofTables& tables);
  void label(protozero::pbf_writer& sample, PprofTables& tables, std::string_view key, std::string_view text);
  void one_sample(const RecordingView& view, PprofTables& tables, const Alike& alike, std::uint64_t count);
  std::vector<std::int64_t> values_of(const Alike& alike, std::uint64_t count) const;
  /// Samples of bytes have no count of their own: each stands for another number of them.
  [[nodiscard]] bool has_counts() const { return clocks_ != std::vector{SampleClock::bytes}; }
  void flush(std::string& bytes) {
    gzip_.add(bytes);
    bytes.clear();
  }

  GzipStream gzip_;
  const Recording& recording_;
  const ProfileOptions& options_;
  std::vector<SampleClock> clocks_;
  std::string bytes_;
};

std::vector<SampleClock> clocks_of(const Recording& recording, const ProfileOptions& options) {
  if (options.clock) return {*options.clock};
  std::set<SampleClock> clocks;
  for (const Sample& sample : recording.samples()) clocks.insert(recording.contexts()[sample.context].clock);
  return {clocks.begin(), clocks.end()};
}

/// As Go's profiles of the heap call it.
std::string_view type_word(SampleClock clock) { return clock == SampleClock::bytes ? "alloc_space" : word_of(clock); }
std::string_view unit_word(SampleClock clock) { return clock == SampleClock::bytes ? "bytes" : "nanoseconds"; }

void PprofWriter::type(std::uint32_t field, PprofTables& tables, std::string_view type, std::string_view unit) {
  std::string message;
  protozero::pbf_writer value(message);
  value.add_int64(kTypeType, tables.string(type));
  value.add_int64(kTypeUnit, tables.string(unit));
  protozero::pbf_writer(bytes_).add_message(field, message);
}

void PprofWriter::header(PprofTables& tables) {
  if (has_counts()) type(ProfileField::kSampleType, tables, "samples", "count");
  for (const SampleClock clock : clocks_) type(ProfileField::kSampleType, tables, type_word(clock), unit_word(clock));
  protozero::pbf_writer profile(bytes_);
  const RecordingFacts& facts = recording_.facts;
  profile.add_int64(ProfileField::kTime, static_cast<std::int64_t>(facts.started_unix_ns));
  profile.add_int64(ProfileField::kDuration, static_cast<std::int64_t>(facts.duration_ns));
  if (!has_counts()) profile.add_int64(ProfileField::kDefaultSampleType, tables.string(type_word(SampleClock::bytes)));
  if (const auto clock = shown_clock(recording_, options_); clock && recording_.period_ns(*clock) != 0) {
    type(ProfileField::kPeriodType, tables, word_of(*clock), "nanoseconds");
    profile.add_int64(ProfileField::kPeriod, static_cast<std::int64_t>(recording_.period_ns(*clock)));
    profile.add_int64(ProfileField::kDefaultSampleType, tables.string(word_of(*clock)));
  }
  std::vector<std::int64_t> comments;
  for (const std::string& note : facts.notes) comments.push_back(tables.string(note));
  if (!facts.source.empty()) comments.push_back(tables.string("sampled by " + facts.source));
  if (facts.account.skipped != 0)
    comments.push_back(tables.string(report::counted(facts.account.skipped, "round") +
                                     " of samples left out: times are too small by their share"));
  if (!comments.empty()) profile.add_packed_int64(ProfileField::kComment, comments.begin(), comments.end());
}

void PprofWriter::label(protozero::pbf_writer& sample, PprofTables& tables, std::string_view key,
                        std::string_view text) {
  std::string message;
  protozero::pbf_writer label(message);
  label.add_int64(kLabelKey, tables.string(key));
  label.add_int64(kLabelText, tables.string(text));
  sample.add_message(kSampleLabels, message);
}

std::vector<std::int64_t> PprofWriter::values_of(const Alike& alike, std::uint64_t count) const {
  const std::uint64_t period = recording_.period_ns(alike.clock);
  std::vector<std::int64_t> values;
  if (has_counts()) values.push_back(static_cast<std::int64_t>(count));
  for (const SampleClock clock : clocks_) {
    const bool fits = period == 0 || count <= INT64_MAX / period;
    values.push_back(clock != alike.clock ? 0 : fits ? static_cast<std::int64_t>(count * period) : INT64_MAX);
  }
  return values;
}

void PprofWriter::one_sample(const RecordingView& view, PprofTables& tables, const Alike& alike, std::uint64_t count) {
  std::string message;
  protozero::pbf_writer sample(message);
  std::vector<std::uint64_t> locations;
  tables.locations_of(alike.node, locations);
  sample.add_packed_uint64(kSampleLocations, locations.begin(), locations.end());
  const auto values = values_of(alike, count);
  sample.add_packed_int64(kSampleValues, values.begin(), values.end());
  const RecordedThread& thread = recording_.threads()[alike.thread];
  if (recording_.processes().size() > 1) label(sample, tables, "process", shown_process(recording_, thread.process));
  if (thread.tid != 0) {  // folded stacks have no threads
    label(sample, tables, "thread", thread.name.empty() ? thread.comm : thread.name);
    label(sample, tables, "state", word_of(alike.activity));
  }
  label(sample, tables, "kind", word_of(view.entries[view.nodes[alike.node].entry].kind));
  if (alike.gc_pending) label(sample, tables, "gc", "pending");
  if (thread.tid != 0) {
    std::string number;
    protozero::pbf_writer thread_id(number);
    thread_id.add_int64(kLabelKey, tables.string("thread_id"));
    thread_id.add_int64(kLabelNumber, thread.tid);
    sample.add_message(kSampleLabels, number);
  }
  protozero::pbf_writer(bytes_).add_message(ProfileField::kSample, message);
}

void PprofWriter::samples(const RecordingView& view, PprofTables& tables) {
  std::map<Alike, std::uint64_t> counts;
  for (const ViewSample& sample : view.samples) {
    const SampleContext& context = recording_.contexts()[sample.context];
    counts[{sample.node, context.thread, context.clock, context.activity, context.gc_pending}] += sample.count;
  }
  constexpr std::size_t kPiece = 64 << 10;
  for (const auto& [alike, count] : counts) {
    one_sample(view, tables, alike, count);
    if (bytes_.size() > kPiece) flush(bytes_);
  }
}

void PprofWriter::write() {
  clocks_ = clocks_of(recording_, options_);
  // Without a period (folded stacks of another profiler) samples have no duration: write counts only.
  std::erase_if(clocks_,
                [this](SampleClock clock) { return clock != SampleClock::bytes && recording_.period_ns(clock) == 0; });
  ProfileOptions options = options_;
  options.by_thread = options.by_process = false;
  options.every_clock = clocks_.size() > 1;
  const RecordingView view = view_of(recording_, options, ViewDetail::frames);
  PprofTables tables(recording_, view);
  header(tables);
  samples(view, tables);
  for (const std::string& message : tables.take_messages()) {
    bytes_ += message;
    flush(bytes_);
  }
  for (const std::string& text : tables.strings()) {
    protozero::pbf_writer(bytes_).add_string(ProfileField::kString, report::escape_for_terminal(text));
    flush(bytes_);
  }
  gzip_.finish();
}

}  // namespace

void write_pprof(report::Writer& out, const Recording& recording, const ProfileOptions& options) {
  PprofWriter(out, recording, options).write();
}

}  // namespace mixstack::formats
