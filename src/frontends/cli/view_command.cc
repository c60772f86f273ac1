#include "frontends/cli/view_command.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <memory>
#include <optional>
#include <system_error>
#include <tuple>

#include "frontends/cli/input.h"
#include "frontends/cli/output.h"
#include "output/files/end_signals.h"
#include "output/serve/page_server.h"

namespace mixstack::cli {
namespace {

constexpr int kLookEveryMs = 1000;

/// Facts of a file that change when it is rewritten.
struct FileState {
  ino_t inode = 0;
  off_t size = 0;
  std::time_t seconds = 0;
  long nanoseconds = 0;
  friend bool operator==(const FileState&, const FileState&) = default;
};

std::optional<FileState> state_of(const std::string& path) {
  struct stat facts {};
  if (path == "-" || stat(path.c_str(), &facts) != 0) return std::nullopt;
  return FileState{facts.st_ino, facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
}

/// Until a signal comes, reads the file again when it has changed and then stayed the same for kLookEveryMs.
void follow(const ViewArguments& arguments, const files::EndSignals& signals, serve::PageServer& server,
            const Environment& environment, std::optional<FileState> shown) {
  std::optional<FileState> last = shown;
  while (signals.wait(kLookEveryMs) == 0) {
    const std::optional<FileState> now = state_of(arguments.in);
    const bool is_new = now && now != shown && now == last;
    last = now;
    if (!is_new) continue;
    shown = now;
    auto recording = read_recording_file(arguments.in, environment);
    if (recording) server.publish(std::make_shared<const Recording>(std::move(*recording)), false);
  }
}

}  // namespace

ExitCode run_view(const ViewArguments& arguments, const Environment& environment) {
  const files::EndSignals signals;  // before the server's thread
  const std::optional<FileState> state = state_of(arguments.in);
  auto recording = read_recording_file(arguments.in, environment);
  if (!recording) return recording.error();
  serve::PageServer server("mixstack");
  server.publish(std::make_shared<const Recording>(std::move(*recording)), false);
  const auto address = server.start(arguments.port);
  if (!address) {
    FdOutput(environment.err)
        .write(fmt::format("mixstack: nothing can be served at port {}: {}\n", arguments.port,
                           std::generic_category().message(address.error().os_error)));
    return ExitCode::output;
  }
  FdOutput out(environment.out);
  out.write(fmt::format("{}\n", *address));
  if (out.error() != 0) return ExitCode::output;
  FdOutput(environment.err).write("mixstack: open this address; Ctrl-C ends it\n");
  follow(arguments, signals, server, environment, state);
  return ExitCode::ok;
}

}  // namespace mixstack::cli
