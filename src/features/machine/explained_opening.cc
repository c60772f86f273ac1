#include "features/machine/explained_opening.h"

#include <utility>

#include "features/machine/refusal_facts.h"
#include "process/live/ptrace_refusal.h"

namespace mixstack::machine {
namespace {

Refused refused(Problem problem, const Error& error, const report::RefusalFacts& facts) {
  if (problem == Problem::none) return {problem, {}, error, {}};
  return {problem, report::problem_text(problem, error, facts), error, report::problem_reason(problem, error, facts)};
}

}  // namespace

Refused foreseen_refusal(std::uint32_t pid) {
  const report::RefusalFacts facts = read_refusal_facts(pid);
  return refused(report::foreseen_problem(facts), {}, facts);
}

Refused refusal_of(const Error& error, std::uint32_t pid, const std::string& name) {
  report::RefusalFacts facts = read_refusal_facts(pid);
  if (facts.comm.empty()) facts.comm = name;
  facts.seccomp =
      error.code == ErrorCode::permission_denied && filter_could_be_why(facts) && process::ptrace_is_filtered();
  return refused(report::problem_of(error, facts), error, facts);
}

tl::expected<ExplainedSession, Refused> open_explained(std::uint32_t pid, const OpenSession& open) {
  const report::RefusalFacts facts = read_refusal_facts(pid);
  if (const Problem problem = report::foreseen_problem(facts); problem != Problem::none)
    return tl::unexpected(refused(problem, {}, facts));
  auto explain = [pid, name = facts.comm](const Error& error) { return refusal_of(error, pid, name); };
  auto session = open(pid);
  if (!session) return tl::unexpected(explain(session.error()));
  return ExplainedSession{std::move(*session), std::move(explain)};
}

bool has_gone(const Error& error, std::uint32_t pid) {
  const Problem problem = report::problem_of(error, read_refusal_facts(pid));
  return problem == Problem::no_such_process || problem == Problem::zombie || problem == Problem::process_changed;
}

bool is_thread(std::uint32_t pid) {
  const report::RefusalFacts facts = read_refusal_facts(pid);
  return facts.exists && facts.thread_group != 0 && facts.thread_group != facts.pid;
}

}  // namespace mixstack::machine
