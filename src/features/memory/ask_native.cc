#include "mixstack/ask_native.h"

#include <unistd.h>

#include <utility>

#include "features/memory/account.h"
#include "features/memory/page_ranges.h"
#include "features/memory/page_sites.h"
#include "features/record/fault_period.h"
#include "features/record/recordings.h"
#include "output/report/native_growth.h"
#include "output/report/writer.h"
#include "process/live/proc_files.h"
#include "process/live/resident_pages.h"

namespace mixstack {
namespace {

using memory_use::NativeLook;
using record::Recordings;

constexpr std::size_t kMostEvents = std::size_t{1} << 21;

std::vector<ManagedMemory> managed_of(Session& session) {
  auto managed = session.managed_memory();
  return managed ? std::move(*managed) : std::vector<ManagedMemory>{};
}

/// All pages that are there.
Result<memory_use::Ranges> resident_of(std::uint32_t pid) {
  auto proc = process::ProcDir::open(pid);
  if (!proc) return fail(proc.error());
  auto mappings = process::resident_mappings(*proc);
  if (!mappings) return fail(mappings.error());
  auto pages = process::ResidentPages::open(*proc);
  if (!pages) return fail(pages.error());
  memory_use::Ranges found;
  const auto add = [&](AddressRange r) {
    if (!found.empty() && found.back().end == r.begin)
      found.back().end = r.end;
    else if (!r.empty())
      found.push_back(r);
  };
  for (const process::ResidentMapping& m : *mappings)
    if (m.resident != 0 && !pages->each_counted(m, add)) return fail(ErrorCode::process_changed);
  return found;
}

Address break_of(const std::vector<Region>& regions) {
  for (const Region& r : regions)
    if (r.path == "[heap]") return r.range.end;
  return 0;
}

/// Records events into a look, until the time is over.
class Looking {
 public:
  Looking(Session& session, const NativeOptions& options) : session_(session), options_(options) {
    wanted_.recorder.want = record::Want::memory_use;
    wanted_.recorder.stacks.memory_use = [this](const record::MemoryEvent& event, std::uint32_t stack) {
      if (look_.events.size() < kMostEvents)
        look_.events.push_back({event, stack});
      else
        dropped_++;
    };
  }

  Result<NativeGrowth> run() {
    NativeGrowth out;
    const TargetInfo& target = session_.target().info();
    out.pid = target.pid;
    out.name = target.comm.empty() ? process::comm_of(target.pid) : target.comm;
    managed_before_ = managed_of(session_);
    look_.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    wanted_.recorder.period = look_.period = record::fault_period(target.pid, record::kUsualCpuHertz);
    Recordings recordings(wanted_);
    const std::shared_ptr<Session> borrowed(std::shared_ptr<Session>(), &session_);
    if (const auto begun = recordings.begin(borrowed); !begun) return fail(begun.error().error);
    recordings.start(std::chrono::milliseconds(0));
    if (auto recorded = record_between(recordings); !recorded) return fail(recorded.error());
    recordings.finish();
    auto labels = memory_use::labelled_space(session_.target(), managed_of(session_));
    if (!labels) return fail(labels.error());
    look_.labels_after = std::move(*labels);
    const Recording& recording = recordings.shared().recording;
    out.time = std::chrono::nanoseconds(look_.end_ns - look_.begin_ns);
    out.period = look_.period;
    out.samples = look_.events.size();
    out.lost = recordings.lost() + dropped_;
    tell_sources(recordings, out);
    memory_use::join_pages(look_, recording, out);
    return out;
  }

 private:
  /// Pages are read after the first events could be seen and before the last ones: a page that comes is in an event.
  Result<void> record_between(Recordings& recordings) {
    look_.begin_ns = record::monotonic_ns();
    auto pages = resident_of(session_.target().info().pid);
    if (!pages) return fail(pages.error());
    look_.before = std::move(*pages);
    look_.before_ns = record::monotonic_ns();
    // The session is the recorder's now; mappings and the allocator are read past it, as soon as the pages.
    auto labels = memory_use::labelled_space(session_.target(), std::move(managed_before_));
    if (!labels) return fail(labels.error());
    look_.labels_before = std::move(*labels);
    look_.first_break = break_of(look_.labels_before.regions);
    record::RunHooks hooks;
    hooks.look = [&] { return !options_.may_go_on || options_.may_go_on(); };
    const record::RunEnd end = recordings.run(options_.time, hooks);
    look_.end_ns = record::monotonic_ns();
    if (end == record::RunEnd::process) return fail(ErrorCode::process_changed, session_.target().info().pid);
    pages = resident_of(session_.target().info().pid);
    if (!pages) return fail(pages.error());
    look_.after = std::move(*pages);
    return {};
  }

  static void tell_sources(Recordings& recordings, NativeGrowth& out) {
    constexpr std::string_view kNoCalls = record::kNoMemoryCalls;
    out.has_calls = true;
    for (const std::string& note : recordings.shared().recording.facts.notes) {
      if (note.starts_with(kNoCalls)) {
        out.has_calls = false;
        out.why_no_calls = note.substr(kNoCalls.size());
      } else {
        out.notes.push_back(note);
      }
    }
  }

  Session& session_;
  const NativeOptions& options_;
  record::RecordingsOptions wanted_;
  std::vector<ManagedMemory> managed_before_;
  NativeLook look_;
  std::uint64_t dropped_ = 0;
};

}  // namespace

Result<NativeGrowth> ask_native(Session& session, const NativeOptions& options) {
  const TargetInfo& target = session.target().info();
  if (!target.core_path.empty() || target.pid == static_cast<std::uint32_t>(::getpid()))
    return fail(ErrorCode::unsupported);
  return Looking(session, options).run();
}

void write_text(const NativeGrowth& growth, const ReportSink& sink, const ReportOptions& options) {
  report::Writer writer(sink);
  report::write_native_text(writer, growth, options);
  writer.flush();
}

void write_json(const NativeGrowth& growth, const ReportSink& sink) {
  report::Writer writer(sink);
  report::write_native_json(writer, growth);
  writer.flush();
}

}  // namespace mixstack
