// The JSON report of a dump (docs/formats/dump.schema.json).
// Input: a ProcessDump and ReportOptions. Output: one JSON document written through a Writer.
// Algorithm: objects are written in the schema's order: process, threads, groups (with `merge`), pending work (where a
// runtime has it), diagnoses. Each thread has its facts first, then its frames, the async methods that await it, the
// repeats that `Folder` found, and why the walk stopped. Unknown facts are null or absent, as the schema says.
// Frames are never folded away here: `repeats` only describes them, so that programs get every frame.
// Bounds: linear in threads, frames and diagnoses of the dump, each written as it is visited; nothing is truncated.
// Only the groups of `merge_stacks` and the indices of `JsonFrames` are kept in memory.
#include "output/report/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "output/report/fold.h"
#include "output/report/frame_view.h"
#include "output/report/json_counters.h"
#include "output/report/json_error.h"
#include "output/report/json_exception.h"
#include "output/report/json_fields.h"
#include "output/report/json_frame.h"
#include "output/report/merge.h"
#include "output/report/signal_words.h"
#include "output/report/thread_role.h"
#include "output/report/vector_text.h"
#include "output/report/wait_words.h"
#include "output/report/why.h"
#include "output/report/why_pending.h"
#include "output/report/words.h"

namespace mixstack::report {
namespace {

void write_diagnosis(Writer& out, const Diagnosis& diagnosis) {
  JsonObject object(out);
  object.text("subject", diagnosis.subject);
  object.text("text", diagnosis.text);
  object.key("error");
  write_error(out, diagnosis.error);
  object.close();
}

void write_diagnoses(Writer& out, const std::vector<Diagnosis>& all) {
  json_array(out, all, "\n", [&out](const Diagnosis& d) { write_diagnosis(out, d); });
}

void write_runtime(Writer& out, const RuntimeSummary& runtime, const RuntimeCounters* counters) {
  JsonObject object(out);
  object.text("kind", runtime.kind);
  object.text_or_null("version", runtime.version);
  object.text("module_path", runtime.module_path);
  object.hex("base", runtime.base);
  object.boolean("walkable", runtime.walkable);
  object.word("provider", runtime.by_dac ? "dac" : "cdac");
  object.key("missing");
  write_diagnoses(out, runtime.missing);
  if (runtime.suspension) {
    JsonObject suspension(object.key("suspension"));
    suspension.number("by", std::uint64_t{runtime.suspension->by});
    suspension.key("waits_for");
    json_array(out, runtime.suspension->waits_for, "", [&out](ThreadId id) { out.decimal(std::uint64_t{id}); });
    suspension.close();
  } else {
    object.null("suspension");
  }
  if (counters != nullptr) write_counters(object, out, *counters);
  object.close();
}

void write_crash(Writer& out, const CrashFacts& crash) {
  JsonObject object(out);
  object.number("tid", std::uint64_t{crash.tid});
  object.number("signal", std::int64_t{crash.signal});
  object.text("name", signal_name(crash.signal));
  object.number("code", std::int64_t{crash.code});
  object.text("cause", signal_code_words(crash.signal, crash.code));
  if (crash.address) object.hex("address", *crash.address);
  if (crash.sender) object.number("sender", std::uint64_t{*crash.sender});
  object.close();
}

void write_usage(JsonObject& process, const std::optional<ProcessUsage>& usage) {
  if (!usage) return process.null("usage");
  JsonObject object(process.key("usage"));
  if (usage->cpu) object.number("cpu_ns", std::int64_t{usage->cpu->count()});
  if (usage->uptime) object.number("uptime_ns", std::int64_t{usage->uptime->count()});
  if (usage->busy) {
    object.key("busy") << fmt::format("{:.3f}", *usage->busy);
    object.number("interval_ns", std::int64_t{usage->interval.count()});
  }
  object.number("resident_bytes", usage->resident_bytes);
  object.text_or_null("container", usage->container);
  object.close();
}

void write_process(Writer& out, const ProcessDump& dump, std::span<const RuntimeCounters> counters) {
  JsonObject object(out);
  object.number("pid", std::uint64_t{dump.target.pid});
  object.word("arch", arch_name(dump.target.arch));
  object.text("executable", dump.target.executable);
  object.key("command_line");
  json_array(out, dump.target.command_line, "", [&out](const std::string& a) { out << json_string(a); });
  object.number("thread_count", std::uint64_t{dump.threads.size()});
  object.number("threads_not_stopped", std::uint64_t{dump.threads_not_stopped});
  object.number("pause_ns", std::int64_t{dump.pause.count()});
  write_usage(object, dump.usage);
  object.word("consistency", consistency_name(dump.consistency));
  object.text_or_null("core", dump.target.core_path);
  if (dump.target.crash) {
    object.key("crash");
    write_crash(out, *dump.target.crash);
  } else {
    object.null("crash");
  }
  object.key("runtimes");
  json_array(out, dump.runtimes, "", [&](const RuntimeSummary& r) {
    const auto number = static_cast<std::size_t>(&r - dump.runtimes.data());
    write_runtime(out, r, number < counters.size() ? &counters[number] : nullptr);
  });
  object.close();
}

void write_managed(Writer& out, const ProcessDump& dump, const ManagedThreadFacts& managed) {
  JsonObject object(out);
  if (managed.is_only_listed) {
    object.fragment(R"("id":null,"name":null,"gc_mode":null,"state":null,"allocated_bytes":null)");
  } else {
    object.number("id", std::uint64_t{managed.managed_id});
    object.text_or_null("name", managed.name);
    object.word("gc_mode", managed.cooperative ? "cooperative" : "preemptive");
    object.hex("state", managed.state);
    if (managed.allocated_bytes)
      object.number("allocated_bytes", *managed.allocated_bytes);
    else
      object.null("allocated_bytes");
  }
  object.text_or_null("exception", managed.exception_type());
  write_exceptions(object, out, dump, managed);
  object.close();
}

void write_syscall(Writer& out, Arch arch, const ThreadDump& thread) {
  JsonObject object(out);
  object.number("number", thread.syscall);
  object.text_or_null("name", syscall_name(arch, thread.syscall));
  if (thread.facts.arguments) {
    object.key("arguments");
    json_array(out, *thread.facts.arguments, "", [&out](std::uint64_t a) {
      out << "\"0x";
      out.hex(a) << '"';
    });
  } else {
    object.null("arguments");
  }
  thread.facts.fd ? object.number("fd", std::int64_t{*thread.facts.fd}) : object.null("fd");
  object.text_or_null("object", thread.facts.object);
  object.close();
}

void write_thread_facts(JsonObject& object, Writer& out, const ProcessDump& dump, const ThreadDump& thread) {
  object.number("tid", std::uint64_t{thread.tid});
  object.number("ns_tid", std::uint64_t{thread.ns_tid});
  object.text("name", thread.comm);
  object.word("role", role_name(role_of(dump, thread)));
  object.text("kernel_state", std::string_view(&thread.kernel_state, 1));
  if (thread.syscall < 0) {
    object.null("syscall");
  } else {
    object.key("syscall");
    write_syscall(out, dump.target.arch, thread);
  }
  thread.facts.cpu ? object.number("cpu_ns", std::int64_t{thread.facts.cpu->count()}) : object.null("cpu_ns");
  thread.facts.queued ? object.number("queued_ns", std::int64_t{thread.facts.queued->count()})
                      : object.null("queued_ns");
  thread.facts.off_cpu ? object.number("off_cpu_ns", std::int64_t{thread.facts.off_cpu->count()})
                       : object.null("off_cpu_ns");
  object.text_or_null("wait_channel", thread.facts.wait_channel);
  if (dump.target.crash && dump.target.crash->tid == thread.tid) {
    object.key("registers");
    write_registers(out, thread.fault_registers ? *thread.fault_registers : thread.registers);
    object.word("registers_from", thread.fault_registers ? "signal_frame" : "thread");
  }
  if (has_crash_vectors(dump, thread)) {
    object.key("vector_registers");
    write_vectors_json(out, dump.target.arch, *thread.vectors);
  }
  object.boolean("captured", thread.captured);
  object.number("late_ns", std::int64_t{thread.late.count()});
  if (thread.not_stopped) object.boolean("not_stopped", true);
  if (thread.wait && !is_told_by_call(*thread.wait)) write_wait_json(object.key("wait"), *thread.wait);
  error_or_null(object, "capture_error", out, thread.capture_error);
  if (!thread.managed) return object.null("managed");
  object.key("managed");
  write_managed(out, dump, *thread.managed);
}

void write_repeat(Writer& out, const Repeat& repeat) {
  JsonObject object(out);
  object.number("first", std::uint64_t{repeat.first});
  object.number("period", std::uint64_t{repeat.period});
  object.number("count", std::uint64_t{repeat.count});
  object.close();
}

void write_async_caller(Writer& out, const ProcessDump& dump, const AsyncCaller& caller) {
  static const SymbolInfo unnamed;
  const SymbolInfo& symbol = caller.symbol < dump.symbols.size() ? dump.symbols[caller.symbol] : unnamed;
  JsonObject object(out);
  object.text("name", symbol.name);
  object.text("module", symbol.module);
  object.text_or_null("file", symbol.file);
  symbol.line == 0 ? object.null("line") : object.number("line", std::uint64_t{symbol.line});
  object.hex_or_null("ip", caller.frame.pc.raw());
  object.hex_or_null("method_desc", caller.frame.method);
  object.hex("box", caller.box);
  object.number("await", std::int64_t{caller.state});
  object.close();
}

void write_thread(Writer& out, const ProcessDump& dump, const ThreadDump& thread, JsonFrames& frames, Folder& folder) {
  JsonObject object(out);
  write_thread_facts(object, out, dump, thread);
  object.key("frames");
  frames.write(out, thread);
  if (!thread.async_callers.empty()) {
    object.key("async_callers");
    json_array(out, thread.async_callers, "", [&](const AsyncCaller& c) { write_async_caller(out, dump, c); });
  }
  object.key("repeats");
  json_array(out, folder.repeats(thread), "", [&out](const Repeat& r) { write_repeat(out, r); });
  object.word("stop_reason", to_string(thread.captured ? thread.trace.stop : StopReason::not_captured));
  error_or_null(object, "stop_error", out, thread.trace.stop_error);
  object.close();
}

void write_group(Writer& out, const StackGroup& group) {
  JsonObject object(out);
  object.number("count", std::uint64_t{group.threads.size()});
  object.key("tids");
  json_array(out, group.threads, "", [&out](const ThreadDump* t) { out.decimal(std::uint64_t{t->tid}); });
  object.boolean("same_addresses", group.same_addresses);
  object.close();
}

}  // namespace

void write_json(Writer& out, const ProcessDump& dump, const ReportOptions& options,
                std::span<const RuntimeCounters> counters) {
  JsonObject document(out);
  document.word("format", "mixstack-dump");
  document.number("format_version", std::uint64_t{1});
  document.key("process");
  write_process(out, dump, counters);
  out << '\n';
  document.key("threads");
  JsonFrames frames(dump, options);
  Folder folder(dump, options);
  json_array(out, dump.threads, "\n", [&](const ThreadDump& t) { write_thread(out, dump, t, frames, folder); });
  if (options.merge) {
    out << '\n';
    document.key("groups");
    json_array(out, merge_stacks(dump, options), "\n", [&out](const StackGroup& g) { write_group(out, g); });
  }
  const auto has_pending = [](const RuntimeSummary& r) { return r.pending.has_value(); };
  if (std::any_of(dump.runtimes.begin(), dump.runtimes.end(), has_pending)) {
    out << '\n';
    write_pending_json(document, out, dump);
  }
  out << '\n';
  document.key("diagnoses");
  write_diagnoses(out, dump.diagnoses);
  document.close();
  out << '\n';
}

}  // namespace mixstack::report
