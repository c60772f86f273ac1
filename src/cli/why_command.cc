#include "cli/why_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <fstream>
#include <thread>

#include "cli/dump_command.h"
#include "cli/fd_output.h"
#include "cli/ps_command.h"
#include "cli/symbol_options.h"
#include "report/escape.h"
#include "report/wait_words.h"
#include "report/why.h"
#include "why/judge.h"

namespace mixstack::cli {
namespace {

DumpArguments dump_arguments(const WhyArguments& why) {
  DumpArguments dump;
  dump.pid = why.pid;
  dump.core = why.core;
  dump.options.waits = true;
  return dump;
}

/// A thread of a circle that has run since its facts were read may have held what it was found to hold at another time
/// than the others: then the circle is possible, no more.
bool has_run(std::uint32_t pid, const ThreadDump& thread) {
  if (!thread.facts.cpu) return true;
  std::ifstream in(fmt::format("/proc/{}/task/{}/schedstat", pid, thread.tid));
  std::int64_t cpu = -1;
  return !(in >> cpu) || cpu != thread.facts.cpu->count();
}

bool has_run(const ProcessDump& dump, const Verdict& verdict) {
  for (const VerdictStep& step : verdict.steps)
    if (const ThreadDump* t = report::find_thread(dump, step.thread); t == nullptr || has_run(dump.target.pid, *t))
      return true;
  return false;
}

/// Dumps and judges, again where a circle moved meanwhile.
struct Judged {
  Dumped dumped;
  std::vector<Verdict> verdicts;
};
tl::expected<Judged, ExitCode> judge(const WhyArguments& arguments, const Environment& environment) {
  constexpr int kTries = 3;
  const DumpArguments what = dump_arguments(arguments);
  for (int attempt = 1;; attempt++) {
    auto dumped = dump_target(what, symbol_options(what), environment);
    if (!dumped) return tl::unexpected(dumped.error());
    std::vector<Verdict> verdicts = why::judge(dumped->dump);
    bool moved = false;
    for (Verdict& v : verdicts) {
      if (arguments.pid == 0 || v.kind != VerdictKind::deadlock || !v.is_certain) continue;
      if (has_run(dumped->dump, v)) moved = true, v.is_certain = false;
    }
    if (!moved || attempt == kTries) return Judged{std::move(*dumped), std::move(verdicts)};
  }
}

ExitCode answer(const WhyArguments& arguments, const Environment& environment) {
  const auto judged = judge(arguments, environment);
  if (!judged) return judged.error();
  const auto& [dumped, verdicts] = *judged;
  FdOutput out(environment.out);
  report::Writer writer([&out](std::string_view piece) { out.write(piece); });
  report::ReportOptions options;
  options.color = wants_color(ColorMode::automatic, environment.out);
  if (arguments.json) {
    report::write_why_json(writer, dumped.dump, verdicts);
  } else if (arguments.dot) {
    report::write_why_dot(writer, dumped.dump, verdicts);
  } else {
    report::write_why_text(writer, dumped.dump, verdicts, options);
  }
  writer.flush();
  if (out.error() != 0) return ExitCode::output;
  return verdicts.empty() ? ExitCode::ok : ExitCode::stuck;
}

}  // namespace

ExitCode run_why(const WhyArguments& arguments, const Environment& environment) {
  WhyArguments of = arguments;
  if (!of.name.empty()) {
    const auto pids = pids_called(of.name, environment);
    if (!pids) return pids.error();
    if (pids->size() != 1) {
      FdOutput(environment.err)
          .write(fmt::format("mixstack: {} processes are called '{}' ({}): give the pid of one\n", pids->size(),
                             report::escape_for_terminal(of.name), fmt::join(*pids, ", ")));
      return ExitCode::usage;
    }
    of.pid = pids->front();
  }
  ExitCode code = answer(of, environment);
  while (of.watch.count() != 0 && (code == ExitCode::ok || code == ExitCode::stuck)) {
    std::this_thread::sleep_for(of.watch);
    FdOutput(environment.out).write("\n");
    code = answer(of, environment);
  }
  return code;
}

}  // namespace mixstack::cli
