#include "features/machine/refused_recording.h"

#include <fmt/format.h>

#include "features/machine/refusal_facts.h"
#include "features/record/recorded_facts.h"
#include "output/report/escape.h"

namespace mixstack::machine {

Refused refused_recording(const record::NotOpened& fault, std::uint32_t pid) {
  std::string notes;
  for (const std::string& note : fault.notes) notes += "  " + report::escape_for_terminal(note) + "\n";
  if (fault.is_without_stops)
    return {Problem::permission,
            fmt::format("pid {} ({}): nothing that shows stacks without a stop is allowed here.\n{}"
                        "  Or leave out --no-stop: threads are then stopped for a moment.\n",
                        pid, record::name_of(pid), notes),
            fault.error, "nothing_without_stop"};
  report::RefusalFacts facts = read_refusal_facts(pid);
  facts.capabilities = kRecordCapabilities;
  facts.enough_files = record::enough_files(record::threads_of(pid));
  const Problem problem = report::problem_of(fault.error, facts);
  return {problem, report::problem_text(problem, fault.error, facts) + notes, fault.error,
          report::problem_reason(problem, fault.error, facts)};
}

}  // namespace mixstack::machine
