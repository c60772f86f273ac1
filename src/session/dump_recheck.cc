// The stages of a dump that find and mark what has changed since the stop, and what could not be read.
#include <algorithm>
#include <set>

#include "process/kernel/memory_map.h"
#include "session/dump_in_progress.h"
#include "session/missing_files.h"
#include "session/symbol_status.h"
#include "session/unloaded_code.h"

namespace mixstack::session {
namespace {

/// A file that the target missed or could not prove matters only if a stack runs through it, a name was wanted from it,
/// or it is a runtime. (Looking for images touches every file that is mapped executable.)
void add_target_diagnoses(DumpInProgress& at) {
  if (auto refusal = at.worker().generated()->take_refusal()) at.dump.diagnoses.push_back(std::move(*refusal));
  if (at.from.file_budget.is_spent())
    at.dump.diagnoses.push_back({{ErrorCode::limit_exceeded, 0, at.from.file_budget.whole()},
                                 "files of the target",
                                 "their tables are larger than what is read of all files together: names and unwind "
                                 "information of some are missing"});
  std::vector<Diagnosis> of_target = at.from.target.diagnoses();
  if (at.from.finder)
    for (Diagnosis& d : at.from.finder->diagnoses())
      if (std::find(of_target.begin(), of_target.end(), d) == of_target.end())
        at.dump.diagnoses.push_back(std::move(d));
  if (of_target.empty()) return;
  std::set<std::string> mapped, wanted, vouched_for;
  for (const Region& r : at.regions()) mapped.insert(r.path);
  for (const ThreadDump& t : at.dump.threads) {
    for (const Frame& f : t.trace.frames)
      if (const Region* r = process::find_region(at.regions(), f.pc.lookup())) wanted.insert(r->path);
  }
  for (const auto& runtime : at.runtimes()) {
    wanted.insert(runtime->summary().module_path);
    for (std::string& path : runtime->files_missing()) wanted.insert(std::move(path));
    for (std::string& path : runtime->files_used()) vouched_for.insert(std::move(path));
  }
  // A single-file program has its runtime inside.
  if (at.runtimes().empty()) wanted.insert(at.from.target.info().executable);
  name_packages(of_target, at.worker().facts()->runtimes());
  for (Diagnosis& d : of_target) {
    const bool is_of_a_file = mapped.contains(d.subject);
    if (!is_of_a_file || (wanted.contains(d.subject) && !vouched_for.contains(d.subject)))
      at.dump.diagnoses.push_back(std::move(d));
  }
}

}  // namespace

void stages::freed_code(DumpInProgress& at) {
  at.inlined.find(at.dump, at.runtimes());
  if (at.is_frozen()) return;
  for (const auto& runtime : at.runtimes())
    for (const auto& f : runtime->freed_code(at.dump, at.capture, at.from.target.memory())) at.freed.push_back(f);
}

void stages::recheck(DumpInProgress& at) {
  at.inlined.apply(at.dump);
  at.callers.apply(at.dump);
  dotnet::mark_freed_code(at.dump, at.freed);
  for (const auto& runtime : at.runtimes())
    for (Diagnosis& d : runtime->take_diagnoses()) at.dump.diagnoses.push_back(std::move(d));
  tell_of_refused_pdbs(at.runtimes(), at.dump);
  if (!at.is_frozen()) doubt_replaced_code(at.dump, at.from.target, at.regions());
  add_target_diagnoses(at);
}

}  // namespace mixstack::session
