#include "cli/empty_view.h"

#include <fmt/format.h>

#include <string>

#include "cli/fd_output.h"
#include "report/words.h"

namespace mixstack::cli {

void say_if_empty(const Recording& recording, formats::Format format, const ProfileOptions& options,
                  const Environment& environment) {
  if (format == formats::Format::recording || format == formats::Format::html) return;
  const RecordingView view = view_of(recording, options);
  if (view.shown != 0) return;
  std::string text = "mixstack: there is nothing to show: no samples\n";
  if (view.idle_left_out != 0 && options.activities == 0) {
    text = fmt::format("mixstack: there is nothing to show: all threads waited; --idle shows {} of them\n",
                       report::counted(view.idle_left_out, "sample"));
  } else if (view.left_out != 0) {
    text = fmt::format("mixstack: there is nothing to show: the options leave out {}, all there are\n",
                       report::counted(view.left_out, "sample"));
  }
  FdOutput(environment.err).write(text);
}

}  // namespace mixstack::cli
