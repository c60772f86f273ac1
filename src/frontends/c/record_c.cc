#include <type_traits>

#include "frontends/c/handles.h"
#include "mixstack/recording_formats.h"

namespace {

using mixstack::CodeKind;
using mixstack::ErrorCode;
using mixstack::RecordMode;
using mixstack::RecordStep;

template <class C, class Cpp>
constexpr bool equal(C c, Cpp cpp) {
  return static_cast<int>(c) == static_cast<int>(cpp);
}
static_assert(equal(MIXSTACK_WALL, RecordMode::wall) && equal(MIXSTACK_CPU, RecordMode::cpu));
static_assert(equal(MIXSTACK_RECORD_OPEN, RecordStep::open) && equal(MIXSTACK_RECORD_SAMPLE, RecordStep::sample) &&
              equal(MIXSTACK_RECORD_FINISH, RecordStep::finish));
static_assert(equal(MIXSTACK_CODE_MANAGED, CodeKind::managed) && equal(MIXSTACK_CODE_NATIVE, CodeKind::native) &&
              equal(MIXSTACK_CODE_RUNTIME, CodeKind::runtime) && equal(MIXSTACK_CODE_KERNEL, CodeKind::kernel) &&
              equal(MIXSTACK_CODE_STUB, CodeKind::stub) && equal(MIXSTACK_CODE_UNKNOWN, CodeKind::unknown));
static_assert(std::has_unique_object_representations_v<mixstack_record_options> &&
              std::has_unique_object_representations_v<mixstack_record_progress> &&
              std::has_unique_object_representations_v<mixstack_function>);

constexpr std::chrono::seconds kUsually{10};

mixstack_record_progress c_progress(const mixstack::RecordProgress& now) {
  mixstack_record_progress out{};
  out.size = sizeof out;
  out.elapsed_ns = static_cast<uint64_t>(now.elapsed.count());
  out.samples = now.samples;
  out.lost = now.lost;
  out.step = static_cast<int32_t>(now.step);
  return out;
}

mixstack::RecordOptions record_options(const mixstack_record_options& options) {
  mixstack::RecordOptions out;
  out.mode = static_cast<RecordMode>(options.mode);
  out.hertz = options.hertz;
  out.duration = std::chrono::milliseconds(options.duration_ms);
  out.may_stop = options.no_stop == 0;
  out.kernel = options.kernel != 0;
  out.async_callers = options.async_callers != 0;
  if (options.piece_ms != 0) out.piece_interval = std::chrono::milliseconds(options.piece_ms);
  if (options.progress != nullptr)
    out.progress = [ask = options.progress, context = options.context](const mixstack::RecordProgress& now) {
      const mixstack_record_progress told = c_progress(now);
      return ask(context, &told) != 0;
    };
  if (options.piece != nullptr)
    out.pieces = [take = options.piece, context = options.context](mixstack::Recording piece) {
      mixstack_recording handle{std::move(piece)};
      take(context, &handle);
    };
  return out;
}

const std::vector<mixstack::FunctionTime>& functions_of(mixstack_recording& recording) {
  if (!recording.has_functions) recording.functions = mixstack::function_times(recording.recording, false);
  recording.has_functions = true;
  return recording.functions;
}

}  // namespace

extern "C" {

mixstack_recording* mixstack_record(mixstack_session* session, const mixstack_record_options* options,
                                    mixstack_error* error) {
  mixstack_record_options wanted;
  if (session == nullptr || !mixstack::c::read_options(options, wanted) || wanted.mode < 0 ||
      wanted.mode > MIXSTACK_CPU) {
    mixstack::c::set(error, {ErrorCode::invalid_argument, 0, 0});
    return nullptr;
  }
  return mixstack::c::guarded(error, [&]() -> mixstack_recording* {
    mixstack::RecordOptions asked = record_options(wanted);
    if (options == nullptr) asked.duration = kUsually;
    auto recording = mixstack::record_stacks(session->why.session(), asked);
    if (recording) return new mixstack_recording{std::move(*recording)};
    mixstack::c::set(error, recording.error());
    return nullptr;
  });
}

void mixstack_free_recording(mixstack_recording* recording) { delete recording; }

uint64_t mixstack_recording_samples(const mixstack_recording* recording) {
  return recording == nullptr ? 0 : recording->recording.facts.account.samples;
}

size_t mixstack_function_count(mixstack_recording* recording) {
  if (recording == nullptr) return 0;
  try {
    return functions_of(*recording).size();
  } catch (const std::exception&) {
    return 0;
  }
}

int mixstack_get_function(mixstack_recording* recording, size_t function, mixstack_function* out) {
  if (function >= mixstack_function_count(recording)) return -1;
  const mixstack::FunctionTime& time = recording->functions[function];
  const mixstack::Recording& whole = recording->recording;
  const mixstack::RecordedFunction& known = whole.functions()[time.function];
  mixstack_function answer{};
  answer.name = time.name.c_str();
  answer.raw_name = known.raw_name.c_str();
  answer.module = known.module == mixstack::kNoIndex ? "" : whole.modules()[known.module].name.c_str();
  answer.self_ns = time.self_ns;
  answer.total_ns = time.total_ns;
  answer.kind = static_cast<int32_t>(known.kind);
  answer.is_user = known.is_user ? 1 : 0;
  return mixstack::c::write_answer(answer, out) ? 0 : -1;
}

const char* mixstack_recording_file(mixstack_recording* recording, const char* format, size_t* size) {
  if (size != nullptr) *size = 0;
  if (recording == nullptr || format == nullptr) return nullptr;
  try {
    const auto known = recording->files.find(format);
    std::string bytes;
    if (known == recording->files.end()) {
      const auto append = [&bytes](std::string_view piece) { bytes += piece; };
      if (!mixstack::write_recording(recording->recording, format, append)) return nullptr;
    }
    const std::string& kept =
        known != recording->files.end() ? known->second : (recording->files[format] = std::move(bytes));
    if (size != nullptr) *size = kept.size();
    return kept.c_str();
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // extern "C"
