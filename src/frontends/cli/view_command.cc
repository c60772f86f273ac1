// `mixstack view`: a recording in the browser.

#include <memory>

#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "output/files/end_signals.h"
#include "output/files/rewritten_file.h"
#include "output/serve/page_server.h"

namespace mixstack::cli {
namespace {

constexpr int kLookEveryMs = 1000;

/// Until a signal comes, reads the file again when it has changed and then stayed the same for kLookEveryMs.
void follow(const ViewArguments& arguments, const files::EndSignals& signals, serve::PageServer& server,
            const Environment& environment, files::RewrittenFile file) {
  while (signals.wait(kLookEveryMs) == 0) {
    if (!file.is_new()) continue;
    auto recording = read_recording_file(arguments.in, environment);
    if (recording) server.publish(std::make_shared<const Recording>(std::move(*recording)), false);
  }
}

}  // namespace

ExitCode run_view(const ViewArguments& arguments, const Environment& environment) {
  const files::EndSignals signals;  // before the server's thread
  const files::RewrittenFile file(arguments.in);
  auto recording = read_recording_file(arguments.in, environment);
  if (!recording) return recording.error();
  serve::PageServer server("mixstack");
  server.publish(std::make_shared<const Recording>(std::move(*recording)), false);
  const auto address = start_page(server, arguments.port, environment);
  if (!address) return address.error();
  FdOutput out(environment.out);
  out.write(*address + "\n");
  if (out.error() != 0) return ExitCode::output;
  remark(environment, {"serves", {}, 0, *address}, kOpenThis);
  follow(arguments, signals, server, environment, file);
  return ExitCode::ok;
}

}  // namespace mixstack::cli
