// How flame graphs are made of a recording.
#pragma once

#include <optional>
#include <string>

#include "base/words/recording.h"
#include "output/report/page_data.h"

namespace mixstack::report {

struct FlameOptions {
  std::string title{};                                       ///< empty: from the recording
  std::string before_name = "before", after_name = "after";  ///< what the two of a difference are called

  // Of the page.
  PageLook look{}, before_look{};  ///< the second of the other one of a difference

  // Of the SVG; the page has them all to choose from.
  std::optional<SampleClock> clock{};  ///< samples of one clock alone can be added; nothing: cpu where there are some
  unsigned width = 1200;               ///< pixels
  double least_width = 0.4;            ///< pixels; what is narrower is left out
  bool icicle = false;                 ///< outermost frames above
};

/// "mixstack: app.dll (pid 12)", for a heading.
[[nodiscard]] std::string flame_title(const Recording& recording, const FlameOptions& options);

/// What was sampled and what was lost, as one line: no picture without it.
[[nodiscard]] std::string account_line(const Recording& recording);

}  // namespace mixstack::report
