// Options that `record` and `top` share: the processes, the kind of samples, and the selection of stacks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/cli/record_arguments.h"

namespace mixstack::cli {

class OptionSet;

/// Texts of options from the parser.
struct RawSampling {
  std::string mode, rate, duration, max_pause;
  std::vector<std::string> pids, more;
};

/// `modes`: "auto|cpu|wall", words of --mode that are offered.
void declare_sampling(OptionSet& options, RawSampling& raw, RecordArguments& record, const std::string& modes);
// Both return "" or the error for the user.
[[nodiscard]] std::string read_pid_list(std::string_view command, const RawSampling& raw, RecordArguments& record);
/// Mode, rate, duration, pauses.
[[nodiscard]] std::string read_sampling(const RawSampling& raw, RecordArguments& record);

}  // namespace mixstack::cli
