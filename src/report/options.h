// What a report shows. The session decides what was recorded; these decide how it looks.
#pragma once

namespace mixstack::report {

struct ReportOptions {
  bool managed_only = false;
  bool raw_names = false;
  bool registers = false;
  bool explain = false;
  bool merge = false;
  bool fold = true;    ///< text only: the repeating part of a stack once, with a count
  bool color = false;  ///< text only: ANSI colours
};

}  // namespace mixstack::report
