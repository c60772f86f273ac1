// The pages of --help. Options are declared here and nowhere else; parsers find their names by `OptionSet` (parsing.h).
#pragma once

#include "output/help/help_page.h"

namespace mixstack::cli {

using help::commands;
using help::HelpBlock;
using help::HelpEntry;
using help::HelpPage;
using help::joined;
using help::options;
using help::prose;
using help::table;
using help::usage;

[[nodiscard]] HelpPage main_page();
[[nodiscard]] HelpPage dump_page();
[[nodiscard]] HelpPage agent_page();
[[nodiscard]] HelpPage ps_page();
[[nodiscard]] HelpPage doctor_page();
[[nodiscard]] HelpPage completions_page();
[[nodiscard]] HelpPage symbols_page();
[[nodiscard]] HelpPage pack_page();
[[nodiscard]] HelpPage record_page();
[[nodiscard]] HelpPage top_page();
[[nodiscard]] HelpPage convert_page();
[[nodiscard]] HelpPage diff_page();
[[nodiscard]] HelpPage view_page();
[[nodiscard]] HelpPage why_page();
[[nodiscard]] HelpPage memory_page();

}  // namespace mixstack::cli
