// An answer as text and as JSON.
#include "mixstack/report.h"
#include "mixstack/why.h"
#include "output/report/why.h"

namespace mixstack {
namespace {

report::WhyExtras extras_of(const WhyAnswer& answer) {
  return {.busy = answer.busy ? &*answer.busy : nullptr,
          .contended = answer.contended,
          .causes = answer.causes,
          .health = answer.health ? &*answer.health : nullptr,
          .is_whole = answer.is_whole()};
}

}  // namespace

void write_text(const WhyAnswer& answer, const ReportSink& sink, const ReportOptions& options) {
  report::Writer out(sink);
  report::write_why_text(out, answer.dump, answer.verdicts, options, extras_of(answer));
  out.flush();
}

void write_json(const WhyAnswer& answer, const ReportSink& sink) {
  report::Writer out(sink);
  report::write_why_json(out, answer.dump, answer.verdicts, extras_of(answer));
  out.flush();
}

}  // namespace mixstack
