// `mixstack why`.
#include <fmt/format.h>
#include <malloc.h>

#include <ctime>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "frontends/cli/commands.h"
#include "frontends/cli/heap_question.h"
#include "frontends/cli/output.h"
#include "frontends/cli/targets.h"
#include "mixstack/report.h"
#include "mixstack/why.h"
#include "output/report/writer.h"

namespace mixstack::cli {
namespace {

WhyOptions why_options(const WhyArguments& arguments, const Environment& environment) {
  WhyOptions options;
  options.data = arguments.data;
  if (arguments.heap) options.heap = heap_question(arguments.pid != 0, arguments.heap_limit, environment);
  options.sample = arguments.sample;
  return options;
}

void write_answer(const ReportSink& sink, const WhyArguments& arguments, const Environment& environment,
                  const WhyAnswer& answer, const WhySince& since) {
  if (arguments.json) return write_json(answer, sink, since);
  if (arguments.dot) return write_dot(answer, sink);
  if (arguments.html) return write_html(answer, sink, since);
  ReportOptions options;
  const bool is_file = !arguments.out.empty() && arguments.out != "-";
  options.color = wants_color(is_file ? ColorMode::never : ColorMode::automatic, environment.out);
  write_text(answer, sink, options, since);
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
  WhyHistory history{};
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
           fmt::format("what process {} runs could not be sampled: {}", arguments.pid, describe(now->not_sampled)));
  const WhySince since = asked.history.add(std::move(*now), time_of_day());
  const WhyAnswer& told = *asked.history.last();
  const ExitCode code = write_answer_to(arguments.out, environment, [&](report::Writer& writer) {
    write_answer([&](std::string_view piece) { writer << piece; }, arguments, environment, told, since);
  });
  if (code != ExitCode::ok) return code;
  if (told.is_stuck()) return ExitCode::stuck;
  if (!told.verdicts.empty()) return ExitCode::may_end;
  return told.is_whole() ? ExitCode::ok : ExitCode::partial;
}

}  // namespace

ExitCode run_why(const WhyArguments& arguments, const Environment& environment) {
  WhyArguments of = arguments;
  keep_freed_memory();
  auto opened = open_subject(of, environment);
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
