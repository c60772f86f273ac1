// `mixstack pack`.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <system_error>

#include "features/machine/explained_opening.h"
#include "features/pack/pack_summary.h"
#include "frontends/cli/commands.h"
#include "frontends/cli/output.h"
#include "frontends/cli/version.h"
#include "mixstack/pack.h"
#include "output/files/output_file.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

ExitCode cannot_write(const Environment& environment, const std::string& path, const Error& error) {
  const std::string name = path == "-" ? "standard output" : report::escape_for_terminal(path);
  std::string text = fmt::format("{} could not be written: {}; nothing is left of it", name,
                                 std::generic_category().message(error.os_error));
  if (error.code == ErrorCode::invalid_argument && error.os_error == EEXIST)
    text = fmt::format("{} is there already: --force replaces a file, and nothing else", name);
  return complain(environment, {"not_written", {}, error.os_error}, text, ExitCode::output);
}

PackOptions options_of(const PackArguments& arguments) {
  PackOptions options;
  options.full = arguments.full;
  options.with_environment = arguments.with_environment;
  options.with_command_line = arguments.with_command_line;
  options.read_back = arguments.out != "-";
  options.tool = version_text().substr(0, version_text().find('\n'));
  return options;
}

/// Why nothing was packed.
ExitCode complain_of(const PackArguments& arguments, const Environment& environment, const Error& error) {
  if (error.code == ErrorCode::io_error && error.value == kPackNotWritten)
    return cannot_write(environment, arguments.out, error);
  if (arguments.pid != 0) return complain(environment, machine::refusal_of(error, arguments.pid));
  return complain_of_core(environment, error, arguments.core.path);
}

}  // namespace

ExitCode run_pack(const PackArguments& arguments, const Environment& environment) {
  (void)std::signal(SIGXFSZ, SIG_IGN);  // exceeding the file size limit becomes an error, like a full disk
  (void)std::signal(SIGPIPE, SIG_IGN);
  std::optional<files::OutputFile> file;
  if (arguments.out != "-") {
    auto made = files::OutputFile::create(arguments.out, arguments.force);
    if (!made) return cannot_write(environment, arguments.out, made.error());
    file.emplace(std::move(*made));
  } else if (::isatty(environment.out) == 1) {
    return complain(environment, {"not_for_terminal"}, "a pack is nothing for a terminal: -o FILE", ExitCode::usage);
  }
  if (arguments.pid != 0)
    if (const auto refused = machine::foreseen_refusal(arguments.pid); refused.problem != Problem::none)
      return complain(environment, refused);
  const int fd = file ? file->fd() : environment.out;
  const auto summary = arguments.pid != 0 ? pack_process(arguments.pid, options_of(arguments), fd)
                                          : pack_core(arguments.core, options_of(arguments), fd);
  if (!summary) return complain_of(arguments, environment, summary.error());
  if (file)
    if (const auto published = file->publish(); !published)
      return cannot_write(environment, arguments.out, published.error());
  FdOutput(file ? environment.out : environment.err)
      .write(packing::summary_text(*summary, arguments.out, arguments.full));
  return summary->different.empty() ? ExitCode::ok : ExitCode::partial;
}

}  // namespace mixstack::cli
