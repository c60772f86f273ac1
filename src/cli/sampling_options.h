// Options that `record` and `top` share: of which processes samples are taken, how, and which of them are shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/record_arguments.h"

namespace CLI {
class App;
}

namespace mixstack::cli {

/// The texts as the parser fills them in.
struct RawSampling {
  std::string mode, rate, duration, max_pause;
  std::vector<std::string> pids, more;
};

void declare_sampling(CLI::App& app, RawSampling& raw, RecordArguments& record);
// An empty text when all is well.
[[nodiscard]] std::string read_pid_list(std::string_view command, const RawSampling& raw, RecordArguments& record);
/// Mode, rate, duration, pauses.
[[nodiscard]] std::string read_sampling(const RawSampling& raw, RecordArguments& record);

}  // namespace mixstack::cli
