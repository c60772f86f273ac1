#include "output/formats/otlp.h"

#include <map>
#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "output/formats/gzip_stream.h"
#include "output/formats/otlp_dictionary.h"
#include "output/report/escape.h"

namespace mixstack::formats {
namespace {

using Message = protozero::pbf_writer;

// Field numbers of ExportProfilesServiceRequest and its submessages.
constexpr std::uint32_t kRequestResources = 1, kRequestDictionary = 2;
constexpr std::uint32_t kResourceProfilesResource = 1, kResourceProfilesScopes = 2;
constexpr std::uint32_t kResourceAttributes = 1, kAttributeKey = 1, kAttributeValue = 2, kAnyText = 1, kAnyNumber = 3;
constexpr std::uint32_t kScopeProfilesScope = 1, kScopeProfilesProfiles = 2, kScopeName = 1, kScopeVersion = 2;
constexpr std::uint32_t kProfileType = 1, kProfileSamples = 2, kProfileTime = 3, kProfileDuration = 4,
                        kProfilePeriodType = 5, kProfilePeriod = 6, kProfileId = 7;
constexpr std::uint32_t kTypeType = 1, kTypeUnit = 2;
constexpr std::uint32_t kSampleStack = 1, kSampleAttributes = 2, kSampleValues = 4;
constexpr std::uint32_t kResponsePartial = 1, kPartialRejected = 1, kPartialWords = 2;

/// Samples with equal keys are merged.
struct Alike {
  std::uint32_t node = 0, thread = 0;
  Activity activity = Activity::unknown;
  friend auto operator<=>(const Alike&, const Alike&) = default;
};
using Counts = std::map<Alike, std::uint64_t>;
using Clocks = std::map<SampleClock, Counts>;

/// Names of CPUs in OpenTelemetry's semantic conventions.
std::string_view host_arch(std::string_view arch) {
  if (arch == "x86_64") return "amd64";
  return arch == "aarch64" ? "arm64" : arch;
}

class OtlpWriter {
 public:
  OtlpWriter(const Recording& recording, const RecordingView& view, const OtlpOptions& otlp)
      : recording_(recording), view_(view), otlp_(otlp), dictionary_(recording, view) {}
  void write(GzipStream& out);

 private:
  std::string resource(std::uint32_t process) const;
  std::string profile(SampleClock clock, const Counts& counts);
  std::string sample(SampleClock clock, const Alike& alike, std::uint64_t count);
  std::string type(std::string_view type, std::string_view unit);

  const Recording& recording_;
  const RecordingView& view_;
  const OtlpOptions& otlp_;
  OtlpDictionary dictionary_;
  std::uint8_t profiles_ = 0;
};

void add_attribute(Message& resource, std::string_view key, std::string_view text) {
  std::string value, attribute;
  Message(value).add_string(kAnyText, report::escape_for_terminal(text));
  Message writer(attribute);
  writer.add_string(kAttributeKey, std::string(key));
  writer.add_message(kAttributeValue, value);
  resource.add_message(kResourceAttributes, attribute);
}

void add_attribute(Message& resource, std::string_view key, std::int64_t number) {
  std::string value, attribute;
  Message(value).add_int64(kAnyNumber, number);
  Message writer(attribute);
  writer.add_string(kAttributeKey, std::string(key));
  writer.add_message(kAttributeValue, value);
  resource.add_message(kResourceAttributes, attribute);
}

/// Attributes of the user override those of the process: each key occurs once.
std::string OtlpWriter::resource(std::uint32_t process) const {
  std::string message;
  Message writer(message);
  std::map<std::string_view, bool> is_said;
  for (const auto& [key, text] : otlp_.resource)
    if (is_said.emplace(key, true).second) add_attribute(writer, key, text);
  const RecordedProcess& p = recording_.processes()[process];
  const auto add = [&](std::string_view key, std::string_view text) {
    if (!text.empty() && !is_said.contains(key)) add_attribute(writer, key, text);
  };
  if (!is_said.contains("process.pid")) add_attribute(writer, "process.pid", std::int64_t{p.pid});
  add("process.executable.name", p.comm);
  add("host.name", recording_.facts.host);
  add("host.arch", host_arch(recording_.facts.arch));
  return message;
}

std::string OtlpWriter::type(std::string_view type, std::string_view unit) {
  std::string message;
  Message writer(message);
  writer.add_int32(kTypeType, dictionary_.string(type));
  writer.add_int32(kTypeUnit, dictionary_.string(unit));
  return message;
}

std::string OtlpWriter::sample(SampleClock clock, const Alike& alike, std::uint64_t count) {
  const RecordedThread& thread = recording_.threads()[alike.thread];
  const std::int32_t attributes[] = {
      dictionary_.attribute("thread.name", thread.name.empty() ? thread.comm : thread.name),
      dictionary_.attribute("thread.id", std::int64_t{thread.tid}),
      dictionary_.attribute("mixstack.state", word_of(alike.activity))};
  const std::uint64_t each = clock == SampleClock::cpu ? 1 : std::max<std::uint64_t>(recording_.period_ns(clock), 1);
  const std::int64_t values[] = {count <= INT64_MAX / each ? static_cast<std::int64_t>(count * each) : INT64_MAX};
  std::string message;
  Message writer(message);
  writer.add_int32(kSampleStack, dictionary_.stack(alike.node));
  writer.add_packed_int32(kSampleAttributes, std::begin(attributes), std::end(attributes));
  writer.add_packed_int64(kSampleValues, std::begin(values), std::end(values));
  return message;
}

std::string OtlpWriter::profile(SampleClock clock, const Counts& counts) {
  std::string message;
  Message writer(message);
  // Processor time has the same type as in OpenTelemetry's own profiler, by which stores recognise it.
  const bool is_cpu = clock == SampleClock::cpu;
  const bool is_bytes = clock == SampleClock::bytes;
  writer.add_message(kProfileType, is_cpu     ? type("samples", "count")
                                   : is_bytes ? type("alloc_space", "bytes")
                                              : type("wall", "nanoseconds"));
  for (const auto& [alike, count] : counts) writer.add_message(kProfileSamples, sample(clock, alike, count));
  writer.add_fixed64(kProfileTime, recording_.facts.started_unix_ns);
  writer.add_uint64(kProfileDuration, recording_.facts.duration_ns);
  if (!is_bytes) {
    writer.add_message(kProfilePeriodType, type(word_of(clock), "nanoseconds"));
    writer.add_int64(kProfilePeriod, static_cast<std::int64_t>(recording_.period_ns(clock)));
  }
  std::string id(otlp_.id.begin(), otlp_.id.end());
  id.back() = static_cast<char>(static_cast<std::uint8_t>(id.back()) + profiles_++);
  writer.add_bytes(kProfileId, id);
  return message;
}

void OtlpWriter::write(GzipStream& out) {
  std::map<std::uint32_t, Clocks> processes;
  for (const ViewSample& sample : view_.samples) {
    const SampleContext& context = recording_.contexts()[sample.context];
    const std::uint32_t process = recording_.threads()[context.thread].process;
    processes[process][context.clock][{sample.node, context.thread, context.activity}] += sample.count;
  }
  std::string scope;
  Message(scope).add_string(kScopeName, "mixstack");
  if (!otlp_.version.empty()) Message(scope).add_string(kScopeVersion, otlp_.version);
  for (const auto& [process, clocks] : processes) {
    std::string scopes, resources, bytes;
    Message scope_profiles(scopes);
    scope_profiles.add_message(kScopeProfilesScope, scope);
    for (const auto& [clock, counts] : clocks)
      scope_profiles.add_message(kScopeProfilesProfiles, profile(clock, counts));
    Message resource_profiles(resources);
    resource_profiles.add_message(kResourceProfilesResource, resource(process));
    resource_profiles.add_message(kResourceProfilesScopes, scopes);
    Message(bytes).add_message(kRequestResources, resources);
    out.add(bytes);
  }
  std::string bytes;
  Message(bytes).add_message(kRequestDictionary, dictionary_.take());
  out.add(bytes);
}

OtlpAnswer read_partial(protozero::pbf_reader partial) {
  OtlpAnswer answer;
  while (partial.next()) {
    if (partial.tag() == kPartialRejected && partial.wire_type() == protozero::pbf_wire_type::varint) {
      answer.rejected = partial.get_int64();
    } else if (partial.tag() == kPartialWords && partial.wire_type() == protozero::pbf_wire_type::length_delimited) {
      answer.words = partial.get_string();
    } else {
      partial.skip();
    }
  }
  return answer;
}

}  // namespace

void write_otlp(report::Writer& out, const Recording& recording, const ProfileOptions& options,
                const OtlpOptions& otlp) {
  ProfileOptions all = options;
  all.by_thread = all.by_process = false;
  all.every_clock = !options.clock;
  const RecordingView view = view_of(recording, all, ViewDetail::frames);
  GzipStream gzip(out);
  OtlpWriter(recording, view, otlp).write(gzip);
  gzip.finish();
}

std::optional<OtlpAnswer> read_otlp_answer(std::string_view bytes) try {
  OtlpAnswer answer;
  for (protozero::pbf_reader reader(bytes.data(), bytes.size()); reader.next();) {
    const bool is_partial =
        reader.tag() == kResponsePartial && reader.wire_type() == protozero::pbf_wire_type::length_delimited;
    if (is_partial) {
      answer = read_partial(reader.get_message());
    } else {
      reader.skip();
    }
  }
  return answer;
} catch (const protozero::exception&) {
  return std::nullopt;
}

}  // namespace mixstack::formats
