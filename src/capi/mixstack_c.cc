#include <mixstack.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "mixstack/session.h"
#include "report/json.h"
#include "report/options.h"
#include "report/words.h"

struct mixstack_session {
  std::unique_ptr<mixstack::Session> session;
};

struct mixstack_dump {
  mixstack::ProcessDump dump;
  std::string json;
};

namespace {

using mixstack::Error;
using mixstack::ErrorCode;

/// Callers of an older version have a smaller structure: only what they know is written.
void set(mixstack_error* out, const Error& error) {
  if (out == nullptr || out->size < sizeof(mixstack_error)) return;
  out->code = static_cast<int32_t>(error.code);
  out->os_error = error.os_error;
  out->value = error.value;
}

/// What C++ may throw (memory, above all) ends here.
template <class Work>
auto guarded(mixstack_error* error, Work work) -> decltype(work()) {
  set(error, {});
  try {
    return work();
  } catch (const std::exception&) {
    set(error, {ErrorCode::internal, 0, 0});
    return nullptr;
  }
}

template <class T>
bool is_valid(const T* options) {
  return options == nullptr || options->size >= sizeof(T);
}

mixstack_session* adopt(mixstack::Result<std::unique_ptr<mixstack::Session>> opened, mixstack_error* error) {
  if (!opened) {
    set(error, opened.error());
    return nullptr;
  }
  return new mixstack_session{std::move(*opened)};
}

mixstack::CoreOptions core_options(const char* path, const mixstack_core_options* options) {
  mixstack::CoreOptions core;
  core.path = path;
  if (options == nullptr) return core;
  for (size_t i = 0; options->sysroots != nullptr && i < options->sysroot_count; i++)
    if (options->sysroots[i] != nullptr) core.sysroots.emplace_back(options->sysroots[i]);
  if (options->executable != nullptr) core.executable = options->executable;
  core.use_own_files = options->only_sysroot == 0;
  return core;
}

mixstack::DumpOptions dump_options(const mixstack_options* options) {
  mixstack::DumpOptions out;
  if (options == nullptr) return out;
  if (options->threads != nullptr) out.threads.assign(options->threads, options->threads + options->thread_count);
  if (options->max_frames != 0) out.walk.max_frames = options->max_frames;
  if (options->stop_timeout_ms != 0) out.stop_timeout = std::chrono::milliseconds(options->stop_timeout_ms);
  out.walk.explicit_frames = options->explicit_frames != 0;
  return out;
}

const mixstack::ThreadDump* thread_at(const mixstack_dump* dump, size_t index) {
  return dump != nullptr && index < dump->dump.threads.size() ? &dump->dump.threads[index] : nullptr;
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
  if (path == nullptr || !is_valid(options)) {
    set(error, {ErrorCode::invalid_argument, 0, 0});
    return nullptr;
  }
  return guarded(error, [&] { return adopt(mixstack::Session::open_core(core_options(path, options)), error); });
}

void mixstack_close(mixstack_session* session) { delete session; }

mixstack_dump* mixstack_take_dump(mixstack_session* session, const mixstack_options* options, mixstack_error* error) {
  if (session == nullptr || !is_valid(options)) {
    set(error, {ErrorCode::invalid_argument, 0, 0});
    return nullptr;
  }
  return guarded(error, [&]() -> mixstack_dump* {
    auto dump = session->session->dump(dump_options(options));
    if (dump) return new mixstack_dump{std::move(*dump), {}};
    set(error, dump.error());
    return nullptr;
  });
}

void mixstack_free_dump(mixstack_dump* dump) { delete dump; }

size_t mixstack_thread_count(const mixstack_dump* dump) { return dump == nullptr ? 0 : dump->dump.threads.size(); }

int mixstack_get_thread(const mixstack_dump* dump, size_t thread, mixstack_thread* out) {
  const mixstack::ThreadDump* t = thread_at(dump, thread);
  if (t == nullptr || out == nullptr || out->size < sizeof(mixstack_thread)) return -1;
  const bool is_managed = t->managed.has_value();
  const auto stop = t->captured ? t->trace.stop : mixstack::StopReason::not_captured;
  out->tid = t->tid;
  out->managed_id = is_managed ? t->managed->managed_id : 0;
  out->name = is_managed && !t->managed->name.empty() ? t->managed->name.c_str() : t->comm.c_str();
  out->exception = is_managed ? t->managed->exception_type().data() : nullptr;
  if (out->exception == nullptr) out->exception = "";
  out->frame_count = t->trace.frames.size();
  out->captured = t->captured ? 1 : 0;
  out->is_complete = stop == mixstack::StopReason::end_of_stack ? 1 : 0;
  out->stop_reason = mixstack::to_string(stop).data();  // a literal
  return 0;
}

int mixstack_get_frame(const mixstack_dump* dump, size_t thread, size_t frame, mixstack_frame* out) {
  const mixstack::ThreadDump* t = thread_at(dump, thread);
  if (t == nullptr || frame >= t->trace.frames.size() || out == nullptr || out->size < sizeof(mixstack_frame))
    return -1;
  const mixstack::Frame& f = t->trace.frames[frame];
  const std::size_t index = frame < t->symbols.size() ? t->symbols[frame] : 0;
  const mixstack::SymbolInfo& symbol = dump->dump.symbols[std::min(index, dump->dump.symbols.size() - 1)];
  out->pc = f.pc.raw();
  out->sp = f.sp;
  out->cfa = f.cfa;
  out->kind = static_cast<int32_t>(f.kind);
  out->trust = static_cast<int32_t>(f.trust);
  out->name = symbol.name.c_str();
  out->raw_name = symbol.raw_name.c_str();
  out->module = symbol.module.c_str();
  out->module_path = symbol.module_path.c_str();
  out->offset = symbol.offset;
  out->method = f.method;
  return 0;
}

const char* mixstack_json(mixstack_dump* dump) {
  if (dump == nullptr) return "";
  if (!dump->json.empty()) return dump->json.c_str();
  try {
    mixstack::report::Writer writer([dump](std::string_view piece) { dump->json += piece; });
    mixstack::report::write_json(writer, dump->dump, {});
    writer.flush();
  } catch (const std::exception&) {
    dump->json.clear();
  }
  return dump->json.c_str();
}

const char* mixstack_error_name(int32_t code) {
  return mixstack::report::error_name(static_cast<ErrorCode>(code)).data();  // a literal
}

}  // extern "C"
