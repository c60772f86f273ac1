// How flame graphs are made of a recording.
#pragma once

#include <optional>
#include <string>

#include "mixstack/recording.h"
#include "output/report/page_data.h"

namespace mixstack::report {

struct FlameOptions {
  std::string title{};                                       ///< empty: from the recording
  std::string before_name = "before", after_name = "after";  ///< what the two of a difference are called

  // For the page.
  PageLook look{}, before_look{};  ///< `before_look`: of a difference's older recording

  // For the SVG; in the page the reader chooses these.
  std::optional<SampleClock> clock{};  ///< one only: clocks cannot be added; nothing: cpu where there are some
  unsigned width = 1200;               ///< pixels
  double least_width = 0.4;            ///< pixels; what is narrower is left out
  bool icicle = false;                 ///< outermost frames above
};

/// "mixstack: app.dll (pid 12)", for a heading.
[[nodiscard]] std::string flame_title(const Recording& recording, const FlameOptions& options);

/// One line with the samples taken and lost; every picture shows it.
[[nodiscard]] std::string account_line(const Recording& recording);

}  // namespace mixstack::report
