// The texts of --help, written by hand so that they read well. A test checks that every option is in them.
#pragma once

#include <string_view>

namespace mixstack::cli {

[[nodiscard]] std::string_view main_help();
[[nodiscard]] std::string_view dump_help();
[[nodiscard]] std::string_view agent_help();
[[nodiscard]] std::string_view ps_help();
[[nodiscard]] std::string_view doctor_help();
[[nodiscard]] std::string_view completions_help();
[[nodiscard]] std::string_view symbols_help();
[[nodiscard]] std::string_view pack_help();
[[nodiscard]] std::string_view record_help();
[[nodiscard]] std::string_view top_help();
[[nodiscard]] std::string_view convert_help();
[[nodiscard]] std::string_view diff_help();
[[nodiscard]] std::string_view view_help();
[[nodiscard]] std::string_view why_help();
[[nodiscard]] std::string_view memory_help();

}  // namespace mixstack::cli
