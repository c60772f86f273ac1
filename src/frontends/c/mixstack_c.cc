// Input: calls from C through include/mixstack.h: a PID, a core's path or our own process, options with their size,
// indexes of threads and frames.
// Output: sessions and dumps as opaque pointers, answers in the caller's structures, texts that live with their dump.
// Algorithm: 1. static_asserts compare every C enumerator with its C++ twin, so that values are cast without a table.
// 2. `read_options` copies the caller's structure by its `size`: an older caller's missing members become 0, a newer
// caller's unknown ones must be 0. 3. `guarded` runs the C++ call and turns exceptions into MIXSTACK_INTERNAL.
// 4. `write_answer` (handles.h) copies back as many bytes as the caller's structure has.
// Bounds: kMostOptionBytes for a structure; indexes are compared with the dump; `copy_text` writes at most `capacity`
// bytes with the NUL. All other limits are the session's.
#include <mixstack.h>

#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "frontends/c/handles.h"
#include "mixstack/report.h"
#include "mixstack/session.h"

namespace {

using mixstack::Error;
using mixstack::ErrorCode;
using mixstack::c::guarded;
using mixstack::c::kept;
using mixstack::c::read_options;
using mixstack::c::set;
using mixstack::c::write_answer;

// The numbers of these enumerators are part of the ABI.
template <class C, class Cpp>
constexpr bool same(C c, Cpp cpp) {
  return static_cast<int>(c) == static_cast<int>(cpp);
}
static_assert(same(MIXSTACK_OK, ErrorCode::none));
static_assert(same(MIXSTACK_UNREADABLE_MEMORY, ErrorCode::unreadable_memory));
static_assert(same(MIXSTACK_TRUNCATED, ErrorCode::truncated));
static_assert(same(MIXSTACK_MALFORMED, ErrorCode::malformed));
static_assert(same(MIXSTACK_LIMIT_EXCEEDED, ErrorCode::limit_exceeded));
static_assert(same(MIXSTACK_NOT_FOUND, ErrorCode::not_found));
static_assert(same(MIXSTACK_UNSUPPORTED, ErrorCode::unsupported));
static_assert(same(MIXSTACK_MISMATCH, ErrorCode::mismatch));
static_assert(same(MIXSTACK_IO_ERROR, ErrorCode::io_error));
static_assert(same(MIXSTACK_NO_SUCH_PROCESS, ErrorCode::no_such_process));
static_assert(same(MIXSTACK_NO_SUCH_THREAD, ErrorCode::no_such_thread));
static_assert(same(MIXSTACK_PERMISSION_DENIED, ErrorCode::permission_denied));
static_assert(same(MIXSTACK_ALREADY_TRACED, ErrorCode::already_traced));
static_assert(same(MIXSTACK_THREAD_NOT_STOPPED, ErrorCode::thread_not_stopped));
static_assert(same(MIXSTACK_UNSUPPORTED_CPU, ErrorCode::unsupported_cpu));
static_assert(same(MIXSTACK_PROCESS_CHANGED, ErrorCode::process_changed));
static_assert(same(MIXSTACK_NO_UNWIND_INFO, ErrorCode::no_unwind_info));
static_assert(same(MIXSTACK_REGISTER_UNKNOWN, ErrorCode::register_unknown));
static_assert(same(MIXSTACK_STACK_NOT_ADVANCING, ErrorCode::stack_not_advancing));
static_assert(same(MIXSTACK_BAD_RETURN_ADDRESS, ErrorCode::bad_return_address));
static_assert(same(MIXSTACK_RUNTIME_NOT_FOUND, ErrorCode::runtime_not_found));
static_assert(same(MIXSTACK_CONTRACT_UNSUPPORTED, ErrorCode::contract_unsupported));
static_assert(same(MIXSTACK_FIELD_UNAVAILABLE, ErrorCode::field_unavailable));
static_assert(same(MIXSTACK_INVALID_ARGUMENT, ErrorCode::invalid_argument));
static_assert(same(MIXSTACK_INTERNAL, ErrorCode::internal));
static_assert(same(MIXSTACK_CANCELLED, ErrorCode::cancelled));
static_assert(same(MIXSTACK_NATIVE, mixstack::FrameKind::native));
static_assert(same(MIXSTACK_MANAGED, mixstack::FrameKind::managed));
static_assert(same(MIXSTACK_RUNTIME_FRAME, mixstack::FrameKind::runtime_frame));
static_assert(same(MIXSTACK_RUNTIME_STUB, mixstack::FrameKind::runtime_stub));
static_assert(same(MIXSTACK_SIGNAL_TRAMPOLINE, mixstack::FrameKind::signal_trampoline));
static_assert(same(MIXSTACK_UNDESCRIBED, mixstack::FrameKind::undescribed));
static_assert(same(MIXSTACK_CERTAIN, mixstack::Trust::certain));
static_assert(same(MIXSTACK_CHECKPOINT, mixstack::Trust::checkpoint));
static_assert(same(MIXSTACK_FRAME_POINTER, mixstack::Trust::frame_pointer));
static_assert(same(MIXSTACK_PROLOGUE, mixstack::Trust::prologue));
static_assert(same(MIXSTACK_INFERRED, mixstack::Trust::inferred));
static_assert(same(MIXSTACK_WHY_LOOK, mixstack::WhyStep::look) && same(MIXSTACK_WHY_REST, mixstack::WhyStep::rest) &&
              same(MIXSTACK_WHY_HEAP, mixstack::WhyStep::heap) && same(MIXSTACK_WHY_SAMPLE, mixstack::WhyStep::sample));
static_assert(same(MIXSTACK_CALLING_ONLY, mixstack::OwnThreads::calling_only) &&
              same(MIXSTACK_BY_SIGNAL, mixstack::OwnThreads::by_signal) &&
              same(MIXSTACK_BY_HELPER, mixstack::OwnThreads::by_helper));
// No padding: the next version may put a member there, and would read garbage from older callers.
static_assert(std::has_unique_object_representations_v<mixstack_error> &&
              std::has_unique_object_representations_v<mixstack_core_options> &&
              std::has_unique_object_representations_v<mixstack_self_options> &&
              std::has_unique_object_representations_v<mixstack_options> &&
              std::has_unique_object_representations_v<mixstack_why_options> &&
              std::has_unique_object_representations_v<mixstack_thread> &&
              std::has_unique_object_representations_v<mixstack_frame>);

std::size_t copy_text(std::string_view text, char* out, std::size_t capacity) {
  if (out == nullptr || capacity == 0) return text.size();
  const std::size_t n = std::min(text.size(), capacity - 1);
  std::memcpy(out, text.data(), n);
  out[n] = 0;
  return text.size();
}

mixstack_session* adopt(mixstack::Result<std::unique_ptr<mixstack::Session>> opened, mixstack_error* error) {
  if (!opened) {
    set(error, opened.error());
    return nullptr;
  }
  return new mixstack_session{mixstack::Why(std::move(*opened))};
}

mixstack::CoreOptions core_options(const char* path, const mixstack_core_options& options) {
  mixstack::CoreOptions core;
  core.path = path;
  for (size_t i = 0; options.sysroots != nullptr && i < options.sysroot_count; i++)
    if (options.sysroots[i] != nullptr) core.sysroots.emplace_back(options.sysroots[i]);
  if (options.executable != nullptr) core.executable = options.executable;
  core.use_own_files = options.only_sysroot == 0;
  return core;
}

mixstack::SelfOptions self_options(const mixstack_self_options& options) {
  mixstack::SelfOptions out;
  out.others = static_cast<mixstack::OwnThreads>(options.other_threads);
  out.signal = options.signal;
  if (options.helper_timeout_ms != 0) out.helper_timeout = std::chrono::milliseconds(options.helper_timeout_ms);
  return out;
}

mixstack::DumpOptions dump_options(const mixstack_options& options) {
  mixstack::DumpOptions out;
  if (options.threads != nullptr) out.threads.assign(options.threads, options.threads + options.thread_count);
  if (options.max_frames != 0) out.walk.max_frames = options.max_frames;
  if (options.stop_timeout_ms != 0) out.stop_timeout = std::chrono::milliseconds(options.stop_timeout_ms);
  if (options.late_timeout_ms != 0) out.late_timeout = std::chrono::milliseconds(options.late_timeout_ms);
  out.walk.explicit_frames = options.explicit_frames != 0;
  return out;
}

const mixstack::ThreadDump* thread_at(const mixstack_dump* dump, size_t index) {
  return dump != nullptr && index < dump->dump.threads.size() ? &dump->dump.threads[index] : nullptr;
}

mixstack::WhyOptions why_options(const mixstack_why_options& options) {
  mixstack::WhyOptions out;
  out.data = options.data != 0;
  if (options.sample_ms != 0) out.sample = std::chrono::milliseconds(options.sample_ms);
  if (options.no_samples != 0) out.sample = std::chrono::milliseconds(0);
  if (options.progress != nullptr)
    out.progress = [ask = options.progress, context = options.context](mixstack::WhyStep step) {
      return ask(context, static_cast<int32_t>(step)) != 0;
    };
  return out;
}

}  // namespace

extern "C" {

uint32_t mixstack_version(void) {
  return MIXSTACK_VERSION_MAJOR << 16 | MIXSTACK_VERSION_MINOR << 8 | MIXSTACK_VERSION_PATCH;
}

mixstack_session* mixstack_open_process(uint32_t pid, mixstack_error* error) {
  return guarded(error, [&] { return adopt(mixstack::Session::open_process(pid), error); });
}

mixstack_session* mixstack_open_core(const char* path, const mixstack_core_options* options, mixstack_error* error) {
  mixstack_core_options wanted;
  if (path == nullptr || !read_options(options, wanted)) {
    set(error, {ErrorCode::invalid_argument, 0, 0});
    return nullptr;
  }
  return guarded(error, [&] { return adopt(mixstack::Session::open_core(core_options(path, wanted)), error); });
}

mixstack_session* mixstack_open_self(const mixstack_self_options* options, mixstack_error* error) {
  mixstack_self_options wanted;
  if (!read_options(options, wanted) || wanted.other_threads < 0 || wanted.other_threads > MIXSTACK_BY_HELPER) {
    set(error, {ErrorCode::invalid_argument, 0, 0});
    return nullptr;
  }
  return guarded(error, [&] { return adopt(mixstack::Session::open_self(self_options(wanted)), error); });
}

void mixstack_close(mixstack_session* session) { delete session; }

mixstack_dump* mixstack_take_dump(mixstack_session* session, const mixstack_options* options, mixstack_error* error) {
  mixstack_options wanted;
  if (session == nullptr || !read_options(options, wanted)) {
    set(error, {ErrorCode::invalid_argument, 0, 0});
    return nullptr;
  }
  return guarded(error, [&]() -> mixstack_dump* {
    auto dump = session->why.session().dump(dump_options(wanted));
    if (dump) return new mixstack_dump{std::move(*dump), {}, {}};
    set(error, dump.error());
    return nullptr;
  });
}

void mixstack_free_dump(mixstack_dump* dump) { delete dump; }

size_t mixstack_thread_count(const mixstack_dump* dump) { return dump == nullptr ? 0 : dump->dump.threads.size(); }

int mixstack_get_thread(const mixstack_dump* dump, size_t thread, mixstack_thread* out) {
  const mixstack::ThreadDump* t = thread_at(dump, thread);
  if (t == nullptr) return -1;
  const bool is_managed = t->managed.has_value();
  const auto stop = t->captured ? t->trace.stop : mixstack::StopReason::not_captured;
  mixstack_thread answer{};
  answer.tid = t->tid;
  answer.managed_id = is_managed ? t->managed->managed_id : 0;
  answer.name = is_managed && !t->managed->name.empty() ? t->managed->name.c_str() : t->comm.c_str();
  answer.exception = is_managed ? t->managed->exception_type().data() : nullptr;
  if (answer.exception == nullptr) answer.exception = "";
  answer.frame_count = t->trace.frames.size();
  answer.captured = t->captured ? 1 : 0;
  answer.is_complete = stop == mixstack::StopReason::end_of_stack ? 1 : 0;
  answer.stop_reason = mixstack::to_string(stop).data();  // a literal
  return write_answer(answer, out) ? 0 : -1;
}

int mixstack_get_frame(const mixstack_dump* dump, size_t thread, size_t frame, mixstack_frame* out) {
  const mixstack::ThreadDump* t = thread_at(dump, thread);
  if (t == nullptr || frame >= t->trace.frames.size()) return -1;
  const mixstack::Frame& f = t->trace.frames[frame];
  const std::vector<mixstack::SymbolInfo>& symbols = dump->dump.symbols;
  const std::size_t own = mixstack::own_function(symbols, frame < t->symbols.size() ? t->symbols[frame] : 0);
  const mixstack::SymbolInfo& symbol = symbols[std::min(own, symbols.size() - 1)];
  mixstack_frame answer{};
  answer.pc = f.pc.raw();
  answer.sp = f.sp;
  answer.cfa = f.cfa;
  answer.kind = static_cast<int32_t>(f.kind);
  answer.trust = static_cast<int32_t>(f.trust);
  answer.name = symbol.name.c_str();
  answer.raw_name = symbol.raw_name.c_str();
  answer.module = symbol.module.c_str();
  answer.module_path = symbol.module_path.c_str();
  answer.offset = symbol.offset;
  answer.method = f.method;
  return write_answer(answer, out) ? 0 : -1;
}

const char* mixstack_json(mixstack_dump* dump) {
  if (dump == nullptr) return "";
  return kept(dump->json, [dump](const mixstack::ReportSink& sink) { mixstack::write_json(dump->dump, sink); });
}

const char* mixstack_text(mixstack_dump* dump) {
  if (dump == nullptr) return "";
  return kept(dump->text, [dump](const mixstack::ReportSink& sink) { mixstack::write_text(dump->dump, sink); });
}

mixstack_answer* mixstack_why(mixstack_session* session, const mixstack_why_options* options, mixstack_error* error) {
  mixstack_why_options wanted;
  if (session == nullptr || !read_options(options, wanted)) {
    set(error, {ErrorCode::invalid_argument, 0, 0});
    return nullptr;
  }
  return guarded(error, [&]() -> mixstack_answer* {
    auto answer = session->why.ask(why_options(wanted));
    if (answer) return new mixstack_answer{std::move(*answer), {}, {}};
    set(error, answer.error());
    return nullptr;
  });
}

void mixstack_free_answer(mixstack_answer* answer) { delete answer; }

int mixstack_answer_verdict(const mixstack_answer* answer) {
  if (answer == nullptr) return MIXSTACK_NOT_ALL_KNOWN;
  if (!answer->answer.verdicts.empty()) return MIXSTACK_STUCK;
  return answer->answer.is_whole() ? MIXSTACK_NOTHING_STUCK : MIXSTACK_NOT_ALL_KNOWN;
}

const char* mixstack_answer_json(mixstack_answer* answer) {
  if (answer == nullptr) return "";
  return kept(answer->json, [answer](const mixstack::ReportSink& sink) { mixstack::write_json(answer->answer, sink); });
}

const char* mixstack_answer_text(mixstack_answer* answer) {
  if (answer == nullptr) return "";
  return kept(answer->text, [answer](const mixstack::ReportSink& sink) { mixstack::write_text(answer->answer, sink); });
}

size_t mixstack_frame_text(const mixstack_dump* dump, size_t thread, size_t frame, char* out, size_t capacity) {
  const mixstack::ThreadDump* t = thread_at(dump, thread);
  try {
    return copy_text(t == nullptr ? std::string() : mixstack::frame_text(dump->dump, *t, frame), out, capacity);
  } catch (const std::exception&) {
    return copy_text({}, out, capacity);
  }
}

size_t mixstack_describe_error(const mixstack_error* error, char* out, size_t capacity) {
  mixstack_error e;
  try {
    if (!read_options(error, e)) return copy_text({}, out, capacity);
    const Error known{static_cast<ErrorCode>(e.code), e.os_error, e.value};
    return copy_text(mixstack::describe(known), out, capacity);
  } catch (const std::exception&) {
    return copy_text({}, out, capacity);
  }
}

const char* mixstack_error_name(int32_t code) {
  return mixstack::to_string(static_cast<ErrorCode>(code)).data();  // a literal
}

}  // extern "C"
