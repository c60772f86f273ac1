// The viewer page (`web/`): a recording, or two and their difference, as one HTML file that needs nothing else.
#pragma once

#include <string>
#include <string_view>

#include "mixstack/recording.h"
#include "output/report/flame_options.h"
#include "output/report/writer.h"

namespace mixstack::report {

/// With `before`, the page shows how `recording` differs from it. The page's policy forbids the browser to load or send
/// anything, and to run any script but the page's own.
void write_flame_html(Writer& out, const Recording& recording, const Recording* before, const FlameOptions& options);

/// The same page without a recording, which asks for it at "data?after=VERSION" beside its own address, and again.
/// `policy` answers the policy that is in it.
void write_live_page(Writer& out, std::string_view title);
[[nodiscard]] std::string live_page_policy();

}  // namespace mixstack::report
