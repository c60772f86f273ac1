#include "frontends/cli/command_table.h"

#include "frontends/cli/arguments.h"
#include "frontends/cli/help.h"
#include "frontends/cli/version.h"

namespace mixstack::cli {

CommandTable command_table() {
  const std::vector<HelpPage> pages{dump_page(),    why_page(),  memory_page(), record_page(),     top_page(),
                                    convert_page(), diff_page(), view_page(),   ps_page(),         doctor_page(),
                                    symbols_page(), pack_page(), agent_page(),  completions_page()};
  const auto options_of = [](std::vector<std::string> command) {
    command.emplace_back("--help");
    return parse_arguments(std::move(command)).options;
  };
  return help::make_table(main_page(), pages, options_of, std::string(version_number()));
}

}  // namespace mixstack::cli
