#include "frontends/cli/why_command.h"

#include <fmt/format.h>
#include <malloc.h>

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "frontends/cli/dump_command.h"
#include "frontends/cli/heap_question.h"
#include "frontends/cli/output.h"
#include "frontends/cli/ps_command.h"
#include "frontends/cli/symbol_options.h"
#include "mixstack/report.h"
#include "mixstack/why.h"
#include "output/report/escape.h"
#include "output/report/health_history.h"
#include "output/report/why.h"
#include "output/report/why_html.h"

namespace mixstack::cli {
namespace {

DumpArguments dump_arguments(const WhyArguments& why) {
  DumpArguments dump;
  dump.pid = why.pid;
  dump.core = why.core;
  return dump;
}

WhyOptions why_options(const WhyArguments& arguments, const Environment& environment) {
  WhyOptions options;
  options.data = arguments.data;
  if (arguments.heap) options.heap = heap_question(arguments.pid != 0, arguments.heap_limit, environment);
  options.sample = arguments.sample;
  return options;
}

/// Words beside an answer, where there was one before.
struct Since {
  std::optional<Unmoved> unmoved{};
  std::vector<std::string> changes{};
};

void write_answer(report::Writer& writer, const WhyArguments& arguments, const Environment& environment,
                  const WhyAnswer& answer, const Since& since) {
  const ProcessDump& dump = answer.dump;
  const report::WhyExtras extras{.busy = answer.busy ? &*answer.busy : nullptr,
                                 .unmoved = since.unmoved ? &*since.unmoved : nullptr,
                                 .contended = answer.contended,
                                 .causes = answer.causes,
                                 .health = answer.health ? &*answer.health : nullptr,
                                 .changes = since.changes,
                                 .is_whole = answer.is_whole()};
  if (arguments.json) {
    report::write_why_json(writer, dump, answer.verdicts, extras);
  } else if (arguments.dot) {
    report::write_why_dot(writer, dump, answer.verdicts);
  } else if (arguments.html) {
    report::write_why_html(writer, dump, answer.verdicts, extras);
  } else {
    report::ReportOptions options;
    const bool is_file = !arguments.out.empty() && arguments.out != "-";
    options.color = wants_color(is_file ? ColorMode::never : ColorMode::automatic, environment.out);
    report::write_why_text(writer, dump, answer.verdicts, options, extras);
  }
}

ExitCode write_out(const WhyArguments& arguments, const Environment& environment, const WhyAnswer& answer,
                   const Since& since) {
  const auto write = [&](report::Writer& writer) { write_answer(writer, arguments, environment, answer, since); };
  return write_answer_to(arguments.out, environment, write);
}

/// Caches of megabytes come and go while one answer is made. Given back to the kernel between them, each page of theirs
/// is had, zeroed, again.
void keep_freed_memory() {
#ifdef __GLIBC__
  constexpr int kLargest = 4 << 20, kKept = 64 << 20, kRoom = 1 << 20;
  (void)::mallopt(M_MMAP_THRESHOLD, kLargest);
  (void)::mallopt(M_TRIM_THRESHOLD, kKept);
  (void)::mallopt(M_TOP_PAD, kRoom);
#endif
}

/// One process or core, opened once for all answers.
struct Asked {
  Why why;
  std::function<ExitCode(const Error&)> complain;
  std::optional<WhyAnswer> before{};  ///< the answer before; nothing: there is none
  report::HealthHistory history{};
};

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  if (::localtime_r(&now, &parts) == nullptr) return "the last answer";
  return fmt::format("{:02}:{:02}:{:02}", parts.tm_hour, parts.tm_min, parts.tm_sec);
}

ExitCode answer(const WhyArguments& arguments, const Environment& environment, Asked& asked) {
  auto now = asked.why.ask(why_options(arguments, environment));
  if (!now) return asked.complain(now.error());
  if (now->not_sampled.code != ErrorCode::none)
    remark(environment, {"not_sampled", to_string(now->not_sampled.code), now->not_sampled.os_error},
           fmt::format("mixstack: what process {} runs could not be sampled: {}\n", arguments.pid,
                       describe(now->not_sampled)));
  Since since;
  if (asked.before) since.unmoved = mixstack::unmoved(*asked.before, *now);
  if (now->health) since.changes = asked.history.add(*now->health, time_of_day());
  if (const ExitCode code = write_out(arguments, environment, *now, since); code != ExitCode::ok) return code;
  asked.before = std::move(*now);
  if (asked.before->is_stuck()) return ExitCode::stuck;
  if (!asked.before->verdicts.empty()) return ExitCode::may_end;
  return asked.before->is_whole() ? ExitCode::ok : ExitCode::partial;
}

}  // namespace

ExitCode run_why(const WhyArguments& arguments, const Environment& environment) {
  WhyArguments of = arguments;
  if (!of.name.empty()) {
    const auto pid = pid_called(of.name, environment);
    if (!pid) return pid.error();
    of.pid = *pid;
  }
  keep_freed_memory();
  const DumpArguments what = dump_arguments(of);
  auto opened = open_target(what, symbol_options(what), environment);
  if (!opened) return opened.error();
  const auto asked = std::make_shared<Asked>(Asked{Why(std::move(opened->session)), std::move(opened->complain)});
  ExitCode code = answer(of, environment, *asked);
  const auto is_answer = [](ExitCode c) {
    return c == ExitCode::ok || c == ExitCode::stuck || c == ExitCode::may_end || c == ExitCode::partial;
  };
  while (of.watch.count() != 0 && is_answer(code)) {
    std::this_thread::sleep_for(of.watch);
    if (of.out.empty() || of.out == "-") FdOutput(environment.out).write("\n");
    code = answer(of, environment, *asked);
  }
  environment.leave_to_the_end(asked);
  return code;
}

}  // namespace mixstack::cli
