// The texts of --help, written by hand so that they read well. A test checks that every option is in them.
#pragma once

#include <string_view>

namespace mixstack::cli {

[[nodiscard]] std::string_view main_help();
[[nodiscard]] std::string_view dump_help();
[[nodiscard]] std::string_view agent_help();

}  // namespace mixstack::cli
