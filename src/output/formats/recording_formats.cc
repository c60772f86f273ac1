#include "mixstack/recording_formats.h"

#include "output/formats/format.h"

namespace mixstack {

std::vector<std::string_view> recording_formats() {
  std::vector<std::string_view> words;
  for (std::uint8_t i = 0; i <= static_cast<std::uint8_t>(formats::kLastFormat); i++)
    words.push_back(formats::word_of(static_cast<formats::Format>(i)));
  return words;
}

Result<void> write_recording(const Recording& recording, std::string_view format, const ReportSink& sink,
                             const RecordingPart& part) {
  const auto known = formats::format_called(format);
  if (!known) return fail(ErrorCode::unsupported);
  ProfileOptions options;
  options.idle = part.waiting;
  options.by_thread = part.by_thread;
  options.managed_only = part.managed_only;
  report::Writer out(sink);
  formats::write_as(*known, out, recording, options);
  out.flush();
  return {};
}

}  // namespace mixstack
