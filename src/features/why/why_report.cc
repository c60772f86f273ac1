// An answer as text, as JSON, as a page and as a graph.
#include "mixstack/why.h"
#include "output/report/why.h"
#include "output/report/why_html.h"
#include "output/report/writer.h"

namespace mixstack {
namespace {

/// Borrows both.
report::WhyExtras extras_of(const WhyAnswer& answer, const WhySince& since) {
  return {.busy = answer.busy ? &*answer.busy : nullptr,
          .unmoved = since.unmoved ? &*since.unmoved : nullptr,
          .contended = answer.contended,
          .causes = answer.causes,
          .health = answer.health ? &*answer.health : nullptr,
          .changes = since.changes,
          .is_whole = answer.is_whole()};
}

}  // namespace

void write_text(const WhyAnswer& answer, const ReportSink& sink, const ReportOptions& options, const WhySince& since) {
  report::Writer out(sink);
  report::write_why_text(out, answer.dump, answer.verdicts, options, extras_of(answer, since));
  out.flush();
}

void write_json(const WhyAnswer& answer, const ReportSink& sink, const WhySince& since) {
  report::Writer out(sink);
  report::write_why_json(out, answer.dump, answer.verdicts, extras_of(answer, since));
  out.flush();
}

void write_html(const WhyAnswer& answer, const ReportSink& sink, const WhySince& since) {
  report::Writer out(sink);
  report::write_why_html(out, answer.dump, answer.verdicts, extras_of(answer, since));
  out.flush();
}

void write_dot(const WhyAnswer& answer, const ReportSink& sink) {
  report::Writer out(sink);
  report::write_why_dot(out, answer.dump, answer.verdicts);
  out.flush();
}

}  // namespace mixstack
