#include "mixstack/report.h"

#include "output/report/frame_view.h"
#include "output/report/json.h"
#include "output/report/text.h"
#include "output/report/text_frame.h"
#include "output/report/words.h"

namespace mixstack {

std::string_view to_string(ErrorCode code) { return report::error_name(code); }

std::string describe(const Error& error) { return report::error_words(error); }

std::string_view describe(StopReason reason) { return report::stop_words(reason); }

std::string frame_text(const Frame& frame, const SymbolInfo& symbol) {
  return report::collect([&](report::Writer& out) {
    report::Painter painter(out, false);
    report::write_called(painter, frame, symbol, {});
  });
}

std::string frame_text(const ProcessDump& dump, const ThreadDump& thread, std::size_t index) {
  if (index >= thread.trace.frames.size()) return {};
  return frame_text(thread.trace.frames[index], report::symbol_of(dump, thread, index));
}

void write_text(const ProcessDump& dump, const ReportSink& sink, const ReportOptions& options) {
  report::Writer out(sink);
  report::write_text(out, dump, options);
  out.flush();
}

void write_json(const ProcessDump& dump, const ReportSink& sink, const ReportOptions& options) {
  report::Writer out(sink);
  report::write_json(out, dump, options);
  out.flush();
}

}  // namespace mixstack
