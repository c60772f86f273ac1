// What a report shows: see mixstack/report.h.
#pragma once

#include "mixstack/report.h"

namespace mixstack::report {

using mixstack::ReportOptions;

}  // namespace mixstack::report
