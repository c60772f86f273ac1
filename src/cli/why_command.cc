#include "cli/why_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <thread>

#include "base/scoped_fd.h"
#include "cli/dump_command.h"
#include "cli/fd_output.h"
#include "cli/heap_question.h"
#include "cli/ps_command.h"
#include "cli/symbol_options.h"
#include "report/escape.h"
#include "report/wait_words.h"
#include "report/why.h"
#include "why/judge.h"
#include "why/lasting.h"

namespace mixstack::cli {
namespace {

DumpArguments dump_arguments(const WhyArguments& why) {
  DumpArguments dump;
  dump.pid = why.pid;
  dump.core = why.core;
  dump.options.waits = true;
  dump.options.pending_work = true;
  dump.options.off_cpu = false;
  return dump;
}

/// A thread of a circle that has run since its facts were read may have held what it was found to hold at another time
/// than the others: then the circle is possible, no more.
bool has_run(std::uint32_t pid, const ThreadDump& thread) {
  if (!thread.facts.cpu) return true;
  const base::ScopedFd file(
      ::open(fmt::format("/proc/{}/task/{}/schedstat", pid, thread.tid).c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 64> text{};
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  std::int64_t cpu = -1;
  return size <= 0 || std::from_chars(text.data(), text.data() + size, cpu).ec != std::errc{} ||
         cpu != thread.facts.cpu->count();
}

bool has_run(const ProcessDump& dump, const Verdict& verdict) {
  for (const VerdictStep& step : verdict.steps)
    if (const ThreadDump* t = report::find_thread(dump, step.thread); t == nullptr || has_run(dump.target.pid, *t))
      return true;
  return false;
}

struct Judged {
  Dumped dumped;
  std::vector<Verdict> verdicts;
};

tl::expected<Judged, ExitCode> look(const WhyArguments& arguments, const Environment& environment) {
  DumpArguments what = dump_arguments(arguments);
  if (arguments.heap && arguments.pid == 0) what.options.heap = heap_question(false, arguments.heap_limit, environment);
  auto dumped = dump_target(what, symbol_options(what), environment);
  if (!dumped) return tl::unexpected(dumped.error());
  std::vector<Verdict> verdicts = why::judge(dumped->dump);
  for (Verdict& v : verdicts)
    if (arguments.pid != 0 && v.kind == VerdictKind::deadlock && v.is_certain && has_run(dumped->dump, v))
      v.is_certain = false;
  return Judged{std::move(*dumped), std::move(verdicts)};
}

/// Only a circle that is certain stands after one look at a running process: a healthy one has locks that are held and
/// waited for, and stops its threads now and then.
tl::expected<Judged, ExitCode> judge(const WhyArguments& arguments, const Environment& environment) {
  constexpr std::chrono::milliseconds kBetween{200};
  auto first = look(arguments, environment);
  if (!first || arguments.pid == 0) return first;
  const auto is_certain = [](const Verdict& v) { return v.kind == VerdictKind::deadlock && v.is_certain; };
  if (std::all_of(first->verdicts.begin(), first->verdicts.end(), is_certain)) return first;
  std::this_thread::sleep_for(kBetween);
  auto second = look(arguments, environment);
  if (second)
    second->verdicts = why::lasting(first->dumped.dump, first->verdicts, second->dumped.dump, second->verdicts);
  return second;
}

/// A look of its own, when all is judged: a stop makes threads run that had not run before it.
ExitCode add_heap(const WhyArguments& arguments, const Environment& environment, ProcessDump& dump) {
  DumpArguments what = dump_arguments(arguments);
  what.options.heap = heap_question(true, arguments.heap_limit, environment);
  auto with_heap = dump_target(what, symbol_options(what), environment);
  if (!with_heap) return with_heap.error();
  std::vector<RuntimeSummary>& runtimes = with_heap->dump.runtimes;
  for (std::size_t i = 0; i < std::min(runtimes.size(), dump.runtimes.size()); i++)
    dump.runtimes[i].pending = std::move(runtimes[i].pending);
  return ExitCode::ok;
}

ExitCode answer(const WhyArguments& arguments, const Environment& environment) {
  auto judged = judge(arguments, environment);
  if (!judged) return judged.error();
  if (arguments.heap && arguments.pid != 0)
    if (const ExitCode code = add_heap(arguments, environment, judged->dumped.dump); code != ExitCode::ok) return code;
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
  if (out.error() != 0) {
    FdOutput(environment.err)
        .write(fmt::format("mixstack: the answer could not be written: {}\n",
                           std::generic_category().message(out.error())));
    return ExitCode::output;
  }
  if (!verdicts.empty()) return ExitCode::stuck;
  return report::knows_waits(dumped.dump) ? ExitCode::ok : ExitCode::partial;
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
  while (of.watch.count() != 0 && (code == ExitCode::ok || code == ExitCode::stuck || code == ExitCode::partial)) {
    std::this_thread::sleep_for(of.watch);
    FdOutput(environment.out).write("\n");
    code = answer(of, environment);
  }
  return code;
}

}  // namespace mixstack::cli
