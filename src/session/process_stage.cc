#include "session/process_stage.h"

#include <algorithm>
#include <string>
#include <vector>

#include "dotnet/bcl/process_ends.h"
#include "mixstack/subjects.h"

namespace mixstack::session {
namespace {

// Thread::ThreadState (src/coreclr/vm/threads.h). When Main has returned the thread that ran it becomes a background
// thread that is reported as dead, and waits for the foreground ones (ThreadStore::WaitForOtherThreads).
constexpr std::uint32_t kBackground = 0x200, kUnstarted = 0x400, kDead = 0x800, kReportDead = 0x10000;
constexpr std::size_t kMostNamed = 8;

bool has_managed_frame(const ThreadDump& thread) {
  return std::any_of(thread.trace.frames.begin(), thread.trace.frames.end(),
                     [](const Frame& f) { return f.kind == FrameKind::managed; });
}

bool ends_the_process(const ProcessDump& dump, const ThreadDump& thread) {
  using dotnet::bcl::kExits;
  const std::size_t frames = std::min(thread.trace.frames.size(), thread.symbols.size());
  for (std::size_t i = 0; i < frames; i++) {
    if (thread.trace.frames[i].kind != FrameKind::managed || thread.symbols[i] >= dump.symbols.size()) continue;
    const std::string& name = dump.symbols[thread.symbols[i]].name;
    if (std::any_of(kExits.begin(), kExits.end(), [&](auto start) { return name.starts_with(start); })) return true;
  }
  return false;
}

bool is_foreground(const ThreadDump& t) {
  return t.managed && !t.managed->is_only_listed &&
         (t.managed->state & (kBackground | kUnstarted | kDead | kReportDead)) == 0;
}

std::string_view symbol_name(const ProcessDump& dump, const ThreadDump& thread, std::size_t frame) {
  const bool is_named = frame < thread.symbols.size() && thread.symbols[frame] < dump.symbols.size();
  return is_named ? std::string_view(dump.symbols[thread.symbols[frame]].name) : std::string_view();
}

/// The code that the thread which is to run Main runs instead; empty: Main has begun, or it is not known. Main is the
/// outermost method that the runtime was asked to run: initializers of its module and class, and startup hooks, are
/// run before. (Whoever is hosted otherwise has no Main.)
std::string before_main(const ProcessDump& dump, const ThreadDump& main) {
  constexpr std::string_view kRunsMain = "coreclr_execute_assembly", kInitializer = "..cctor()";
  std::string_view outermost;
  std::size_t at = 0;
  for (std::size_t i = 0; i < main.trace.frames.size(); i++)
    if (main.trace.frames[i].kind == FrameKind::managed) outermost = symbol_name(dump, main, i), at = i;
  if (outermost.empty()) return {};
  bool runs_main = false;
  for (std::size_t i = at + 1; i < main.trace.frames.size() && !runs_main; i++)
    runs_main = symbol_name(dump, main, i).starts_with(kRunsMain);
  if (outermost.starts_with(dotnet::bcl::kSetup)) return "the runtime sets itself up";
  if (!runs_main) return {};
  if (outermost.starts_with(dotnet::bcl::kStartupHooks)) return "a startup hook runs";
  if (outermost == "<Module>..cctor()") return "an initializer of its module runs";
  if (outermost.ends_with(kInitializer)) return "the static constructor of its class runs";
  return {};
}

/// Whether the host still looks for a runtime, and none is loaded.
bool is_in_the_host(const ProcessDump& dump, const ThreadDump& main) {
  if (!dump.runtimes.empty()) return false;
  return std::any_of(main.symbols.begin(), main.symbols.end(), [&](std::uint32_t s) {
    if (s >= dump.symbols.size()) return false;
    const std::string& module = dump.symbols[s].module;
    return module.starts_with("libhostfxr.so") || module.starts_with("libhostpolicy.so");
  });
}

std::string words_of(const ThreadDump& t) {
  const std::string& name = t.managed && !t.managed->name.empty() ? t.managed->name : t.comm;
  return std::to_string(t.tid) + (name.empty() ? "" : " \"" + name + "\"");
}

std::string returned_words(const ProcessDump& dump, ThreadId main) {
  std::vector<const ThreadDump*> kept_by;
  for (const ThreadDump& t : dump.threads)
    if (t.tid != main && is_foreground(t)) kept_by.push_back(&t);
  if (kept_by.empty()) return "Main has returned, and no foreground thread is left: the process is about to end";
  std::string text = "Main has returned; ";
  text +=
      kept_by.size() == 1 ? "1 foreground thread keeps" : std::to_string(kept_by.size()) + " foreground threads keep";
  text += " the process: ";
  for (std::size_t i = 0; i < std::min(kept_by.size(), kMostNamed); i++)
    text += (i == 0 ? "" : ", ") + words_of(*kept_by[i]);
  if (kept_by.size() > kMostNamed) text += " and " + std::to_string(kept_by.size() - kMostNamed) + " more";
  return text;
}

}  // namespace

void find_stage(ProcessDump& dump) {
  const auto tell = [&dump](std::string text) {
    dump.diagnoses.push_back({{}, std::string(kStageSubject), std::move(text)});
  };
  for (const ThreadDump& t : dump.threads)
    if (t.captured && t.managed && ends_the_process(dump, t))
      return tell("The process exits: thread " + words_of(t) + " brings it to its end");
  const auto is_main = [&](const ThreadDump& t) { return t.tid == dump.target.pid; };
  const auto main = std::find_if(dump.threads.begin(), dump.threads.end(), is_main);
  if (main == dump.threads.end() || !main->captured) return;
  if (is_in_the_host(dump, *main))
    return tell("No runtime runs yet: the host of .NET is at work on thread " + words_of(*main));
  if (!main->managed || main->managed->is_only_listed) return;
  if (const std::string instead = before_main(dump, *main); !instead.empty())
    return tell("Main has not begun: " + instead + " on thread " + words_of(*main));
  constexpr std::uint32_t kReturned = kBackground | kReportDead;
  if ((main->managed->state & kReturned) == kReturned && !has_managed_frame(*main))
    tell(returned_words(dump, main->tid));
}

}  // namespace mixstack::session
