// Input: a target, a worker, DumpOptions. Output: a ProcessDump.
// Order: runtimes know one capture at a time, so late threads are walked before the common instant, which is needed to
// the end. Code and objects that the running target may free are named and read first; symbol tables, lines and files
// can wait. Code that was freed or replaced meanwhile is marked last.
#include "session/dump_stages.h"

#include <array>
#include <bit>

namespace mixstack::session {
namespace {

using enum Part;

constexpr std::array kStages{
    DumpStage{"capture", none, captured, stages::capture},
    DumpStage{"ask_facts", captured, facts_asked, stages::ask_facts},
    DumpStage{"walk_late", captured, late_traces, stages::walk_late},
    DumpStage{"walk", captured | late_traces, traces, stages::walk},
    DumpStage{"usage", facts_asked | traces, used, stages::usage},
    DumpStage{"complete", facts_asked | traces | used, whole_traces, stages::complete},
    DumpStage{"runtimes", whole_traces, runtimes, stages::runtimes},
    DumpStage{"managed_names", whole_traces | runtimes, managed_names, stages::managed_names},
    DumpStage{"objects", facts_asked | managed_names, objects, stages::objects},
    DumpStage{"facts", facts_asked | objects, facts, stages::facts},
    DumpStage{"freed_code", managed_names | objects, freed, stages::freed_code},
    DumpStage{"native_names", managed_names | freed, names, stages::native_names},
    DumpStage{"native_waits", names | objects | facts, waits, stages::native_waits},
    DumpStage{"recheck", names | freed | waits, checked, stages::recheck},
};

/// Each need was made by an earlier stage, and everything is made once.
constexpr bool are_in_order() {
  Part made = none;
  for (const DumpStage& stage : kStages) {
    if ((stage.needs & made) != stage.needs || (stage.makes & made) != none) return false;
    made = made | stage.makes;
  }
  return (made & checked) == checked;
}
static_assert(are_in_order());

constexpr std::array<std::string_view, 14> kNames{"captured",     "facts_asked", "late_traces",   "traces",  "used",
                                                  "whole_traces", "runtimes",    "managed_names", "objects", "facts",
                                                  "freed",        "names",       "waits",         "checked"};

}  // namespace

std::string_view part_name(Part one) {
  const auto at = static_cast<std::size_t>(std::countr_zero(static_cast<std::uint32_t>(one)));
  return at < kNames.size() ? kNames[at] : std::string_view();
}

std::span<const DumpStage> dump_stages() { return kStages; }

Result<ProcessDump> make_dump(DumpSources sources, const DumpOptions& options) {
  DumpInProgress at(std::move(sources), options);
  for (const DumpStage& stage : kStages) {
    stage.run(at);
    if (at.failure) return fail(*at.failure);
  }
  return std::move(at.dump);
}

}  // namespace mixstack::session
