#include "output/report/thread_role.h"

#include <algorithm>
#include <array>

#include "dotnet/bcl/threads.h"

namespace mixstack::report {
namespace {

struct Named {
  std::string_view start;
  ThreadRole role;
};

// Methods that threads begin with.
constexpr Named kEntries[] = {
    {dotnet::bcl::kPoolWorker, ThreadRole::pool_worker},     {dotnet::bcl::kPoolGate, ThreadRole::pool_gate},
    {dotnet::bcl::kPoolWaits, ThreadRole::pool_waits},       {dotnet::bcl::kTimerThread, ThreadRole::timer},
    {dotnet::bcl::kSocketThread, ThreadRole::sockets},       {dotnet::bcl::kFileWatcher, ThreadRole::file_watcher},
    {dotnet::bcl::kFileWatcher11, ThreadRole::file_watcher}, {dotnet::bcl::kHeartbeat, ThreadRole::library},
    {dotnet::bcl::kConsoleLogger, ThreadRole::library},
};

// Names the runtime gives its threads, as much of them as the kernel keeps (15 bytes).
constexpr Named kNames[] = {
    {".NET Finalizer", ThreadRole::finalizer},
    {".NET Server GC", ThreadRole::gc},
    {".NET BGC", ThreadRole::gc},
    {".NET Tiered Com", ThreadRole::tiering},
    {".NET EventPipe", ThreadRole::diagnostics},
    {".NET DebugPipe", ThreadRole::diagnostics},
    {".NET Debugger", ThreadRole::diagnostics},
    {".NET SigHandler", ThreadRole::signals},
    {".NET TP Worker", ThreadRole::pool_worker},
    {".NET TP Gate", ThreadRole::pool_gate},
    {".NET Timer", ThreadRole::timer},
    {".NET Sockets", ThreadRole::sockets},
    {".NET File Watch", ThreadRole::file_watcher},
    {".NET SynchManag", ThreadRole::runtime},
};

const SymbolInfo* symbol_of(const ProcessDump& dump, const ThreadDump& thread, std::size_t frame) {
  if (frame >= thread.symbols.size() || thread.symbols[frame] >= dump.symbols.size()) return nullptr;
  const std::uint32_t own = own_function(dump.symbols, thread.symbols[frame]);
  return own < dump.symbols.size() ? &dump.symbols[own] : nullptr;
}

std::string_view name_of(const ProcessDump& dump, const ThreadDump& thread, std::size_t frame) {
  const SymbolInfo* symbol = symbol_of(dump, thread, frame);
  return symbol == nullptr ? std::string_view() : std::string_view(symbol->name);
}

bool begins_all_threads(std::string_view name) { return name.starts_with(dotnet::bcl::kThreadStart); }

/// The method that tells what a thread is for; empty where no managed frame has a name.
std::string_view entry_method(const ProcessDump& dump, const ThreadDump& thread) {
  for (std::size_t i = thread.trace.frames.size(); i-- > 0;) {
    if (thread.trace.frames[i].kind != FrameKind::managed) continue;
    const std::string_view name = name_of(dump, thread, i);
    if (!begins_all_threads(name)) return name;
  }
  return {};
}

}  // namespace

std::string_view role_name(ThreadRole role) {
  constexpr std::array kWords = {"other",        "main",      "pool_worker", "pool_gate", "pool_waits",
                                 "timer",        "finalizer", "gc",          "tiering",   "sockets",
                                 "file_watcher", "signals",   "diagnostics", "runtime",   "library"};
  const auto i = static_cast<std::size_t>(role);
  return i < kWords.size() ? kWords[i] : "other";
}

std::string_view idle_words(ThreadRole role, bool several) {
  switch (role) {
    case ThreadRole::pool_worker:
      return several ? "pool workers wait for work" : "pool worker waits for work";
    case ThreadRole::pool_gate:
      return several ? "gates of the pool sleep" : "gate of the pool sleeps";
    case ThreadRole::pool_waits:
      return several ? "threads of the pool wait for handles" : "thread of the pool waits for handles";
    case ThreadRole::timer:
      return several ? "timer threads wait for their time" : "timer thread waits for its time";
    case ThreadRole::finalizer:
      return several ? "finalizers wait for objects" : "finalizer waits for objects";
    case ThreadRole::gc:
      return several ? "GC threads wait" : "GC thread waits";
    case ThreadRole::tiering:
      return several ? "threads of tiered compilation wait" : "thread of tiered compilation waits";
    case ThreadRole::sockets:
      return several ? "socket threads wait for events" : "socket thread waits for events";
    case ThreadRole::file_watcher:
      return several ? "file watchers wait for changes" : "file watcher waits for changes";
    case ThreadRole::signals:
      return several ? "threads wait for signals" : "thread waits for signals";
    case ThreadRole::diagnostics:
      return several ? "threads wait for debuggers and diagnostics" : "thread waits for debuggers and diagnostics";
    case ThreadRole::runtime:
      return several ? "other threads of the runtime wait" : "other thread of the runtime waits";
    case ThreadRole::library:
      return several ? "threads of ASP.NET and logging wait" : "thread of ASP.NET or logging waits";
    case ThreadRole::other:
    case ThreadRole::main:
      break;
  }
  return {};
}

ThreadRole role_of(const ProcessDump& dump, const ThreadDump& thread) {
  if (dump.runtimes.empty()) return thread.tid == dump.target.pid ? ThreadRole::main : ThreadRole::other;
  if (const std::string_view entry = entry_method(dump, thread); !entry.empty()) {
    for (const Named& known : kEntries)
      if (entry.starts_with(known.start)) return known.role;
    if (thread.tid == dump.target.pid) return ThreadRole::main;
    // Finalizers run managed code on a thread that began as none.
    return thread.comm.starts_with(".NET Finalizer") ? ThreadRole::finalizer : ThreadRole::other;
  }
  if (thread.tid == dump.target.pid) return ThreadRole::main;
  for (const Named& known : kNames)
    if (std::string_view(thread.comm).starts_with(known.start)) return known.role;
  return thread.comm.starts_with(".NET ") ? ThreadRole::runtime : ThreadRole::other;
}

UserCode user_code_of(const ProcessDump& dump) {
  UserCode::Program program{.executable = dump.target.executable, .command_line = dump.target.command_line};
  if (!dump.runtimes.empty()) {
    program.runtime = dump.runtimes.front().module_path;
    program.is_aot = dump.runtimes.front().kind == "NativeAOT";
  }
  return UserCode(program);
}

std::size_t innermost_user_frame(const UserCode& user, const ProcessDump& dump, const ThreadDump& thread) {
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    if (i >= thread.symbols.size()) break;
    for (const std::uint32_t s : logical_frames(dump.symbols, thread.symbols[i]))
      if (s < dump.symbols.size() && user.is_user(dump.symbols[s], thread.trace.frames[i].kind)) return i;
  }
  return thread.trace.frames.size();
}

bool is_idle(const ProcessDump& dump, const ThreadDump& thread, ThreadRole role, const UserCode& user) {
  using dotnet::bcl::kIdling;
  if (role == ThreadRole::other || role == ThreadRole::main) return false;
  if (!thread.captured || thread.trace.stop != StopReason::end_of_stack || thread.late.count() > 0) return false;
  const bool is_core = !dump.target.core_path.empty();
  if (!is_core && thread.kernel_state != 'S') return false;
  if (dump.target.crash && dump.target.crash->tid == thread.tid) return false;
  if (thread.managed && (thread.managed->cooperative || !thread.managed->exceptions.empty() || thread.managed->abort))
    return false;
  if (innermost_user_frame(user, dump, thread) < thread.trace.frames.size()) return false;
  // Signal handlers, and code that was interrupted below them, are not how these threads wait.
  for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
    const Frame& frame = thread.trace.frames[i];
    if (frame.kind == FrameKind::signal_trampoline || frame.kind == FrameKind::undescribed) return false;
    if (frame.kind != FrameKind::managed) continue;
    const std::string_view name = name_of(dump, thread, i);
    if (std::none_of(kIdling.begin(), kIdling.end(), [&](auto start) { return name.starts_with(start); })) return false;
  }
  return !thread.trace.frames.empty();
}

}  // namespace mixstack::report
