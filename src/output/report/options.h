// Options of a report: see mixstack/report.h.
#pragma once

#include "mixstack/report.h"

namespace mixstack::report {

using mixstack::ReportOptions;

}  // namespace mixstack::report
