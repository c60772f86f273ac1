#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "mixstack/machine.h"
#include "output/report/json_fields.h"

namespace mixstack {
namespace {

using Verdict = Finding::Verdict;

std::string_view verdict_word(Verdict verdict) {
  return verdict == Verdict::ok ? "ok" : verdict == Verdict::note ? "note" : "BAD";
}

std::string findings_text(const std::vector<Finding>& findings) {
  std::string out;
  for (const Finding& f : findings) {
    out += fmt::format("{:<5} {:<15} {}\n", verdict_word(f.verdict), f.subject, f.text);
    std::size_t at = 0;
    while (at < f.remedy.size()) {
      const std::size_t end = std::min(f.remedy.find('\n', at), f.remedy.size());
      std::size_t begin = at;
      while (begin < end && f.remedy[begin] == ' ') begin++;
      out += fmt::format("      {:<15} {} {}\n", "", at == 0 ? "->" : "  ", f.remedy.substr(begin, end - begin));
      at = end + 1;
    }
  }
  return out;
}

}  // namespace

std::string_view problem_name(Problem problem) {
  switch (problem) {
    case Problem::none:
      return "none";
    case Problem::no_such_process:
      return "no_such_process";
    case Problem::is_thread:
      return "is_thread";
    case Problem::zombie:
      return "zombie";
    case Problem::kernel_thread:
      return "kernel_thread";
    case Problem::is_self:
      return "is_self";
    case Problem::unsupported_cpu:
      return "unsupported_cpu";
    case Problem::already_traced:
      return "already_traced";
    case Problem::permission:
      return "permission";
    case Problem::process_changed:
      return "process_changed";
    case Problem::no_such_thread:
      return "no_such_thread";
    case Problem::resources:
      return "resources";
    case Problem::no_proc:
      return "no_proc";
    case Problem::foreign_proc:
      return "foreign_proc";
    case Problem::hidden:
      return "hidden";
    case Problem::other:
      break;
  }
  return "other";
}

void write_text(const Examination& examination, const ReportSink& sink) {
  sink(findings_text(examination.findings));
  sink(
      fmt::format("\ndump: {}. CPU samples (perf events): {}. Stacks of blocked threads (BPF): {}.\n"
                  "A dump needs neither of the last two: they are for mixstack record.\n",
                  examination.dump ? "works" : "does not work", examination.perf_events ? "work" : "do not work",
                  examination.without_stop ? "possible" : "not possible"));
}

void write_json(const Examination& examination, const ReportSink& sink) {
  report::Writer out(sink);
  report::JsonObject document(out);
  document.word("format", "mixstack-doctor");
  document.number("format_version", std::uint64_t{1});
  document.boolean("dump", examination.dump);
  document.text_or_null("problem", examination.dump ? std::string_view() : problem_name(examination.problem));
  document.boolean("perf_events", examination.perf_events);
  document.boolean("without_stop", examination.without_stop);
  document.key("findings");
  report::json_array(out, examination.findings, "\n ", [&](const Finding& finding) {
    report::JsonObject one(out);
    one.text("subject", finding.subject);
    one.word("verdict", finding.verdict == Verdict::ok ? "ok" : finding.verdict == Verdict::note ? "note" : "bad");
    one.text("text", finding.text);
    one.text_or_null("remedy", finding.remedy);
    one.close();
  });
  document.close();
  out << '\n';
  out.flush();
}

}  // namespace mixstack
