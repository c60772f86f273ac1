#include "frontends/cli/record_output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "frontends/cli/fd_output.h"
#include "frontends/cli/output_place.h"
#include "frontends/cli/profile_file.h"
#include "output/formats/empty_view.h"
#include "output/report/escape.h"

namespace mixstack::cli {
namespace {

using formats::Format;

/// Makes a process name fit for a file name.
std::string plain(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return name.empty() ? "process" : name.substr(0, 32);
}

tl::expected<Format, std::string> format_for(const RecordArguments& arguments) {
  if (!arguments.format.empty()) {
    const auto format = formats::format_called(arguments.format);
    if (format) return *format;
    return tl::unexpected("--format: '" + arguments.format + "' is none of " + formats::all_format_words());
  }
  if (arguments.out.empty()) return Format::html;
  if (arguments.out == "-") return Format::folded;
  const auto format = formats::format_of(arguments.out);
  if (format) return *format;
  return tl::unexpected("the end of " + report::escape_for_terminal(arguments.out) +
                        " tells no format: .html, .svg, .folded, .speedscope.json, .pb.gz, .profile.json.gz, "
                        ".trace.json, .txt, .mxr, or --format with one of " +
                        formats::all_format_words());
}

}  // namespace

tl::expected<RecordOutput, OutputFault> RecordOutput::make(const RecordArguments& arguments) {
  RecordOutput output;
  const auto format = format_for(arguments);
  if (!format) return tl::unexpected(OutputFault{ExitCode::usage, format.error()});
  output.format_ = *format;
  output.path_ = arguments.out;
  output.names_itself_ = arguments.out.empty();
  output.quiet_ = arguments.quiet;
  output.options_.idle = arguments.idle;
  output.options_.activities = arguments.activities;
  output.options_.gc_only = arguments.gc_only;
  output.options_.by_thread = arguments.by_thread;
  output.options_.managed_only = arguments.managed_only;
  output.options_.include = arguments.include;
  output.options_.exclude = arguments.exclude;
  if (arguments.out != "-") {
    if (auto fault = fault_of_place(arguments.out); !fault.empty())
      return tl::unexpected(OutputFault{ExitCode::output, std::move(fault)});
  }
  return output;
}

std::string RecordOutput::path_of(const Recording& recording) const {
  if (!path_.empty()) return path_;
  const auto& processes = recording.processes();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  (void)::localtime_r(&now, &local);
  return fmt::format("mixstack-{}-{}-{:%Y%m%d-%H%M%S}{}", plain(processes.empty() ? "" : processes.front().comm),
                     processes.empty() ? 0 : processes.front().pid, local, formats::extension_of(format_));
}

tl::expected<std::string, ExitCode> RecordOutput::write_to(const std::string& path, const Recording& recording,
                                                           const Environment& environment) const {
  const auto write = [&](report::Writer& out) { formats::write_as(format_, out, recording, options_); };
  if (names_itself_)
    return write_new_profile_file(path, std::string(formats::extension_of(format_)), environment, write);
  const ExitCode code = write_profile_file(path, formats::is_text(format_), environment, write);
  if (code != ExitCode::ok) return tl::unexpected(code);
  return path;
}

/// Saves a raw recording elsewhere when writing failed, so that a full disk does not lose it.
ExitCode RecordOutput::rescue(const Recording& recording, const Environment& environment) const {
  Environment silent = environment;
  silent.err = -1;
  RecordOutput raw;
  raw.format_ = Format::recording;
  for (const char* folder : {"/var/tmp", "/tmp", "/dev/shm"}) {
    const auto path = raw.write_to(std::string(folder) + "/" + raw.path_of(recording), recording, silent);
    if (!path) continue;
    FdOutput(environment.err)
        .write(fmt::format("mixstack: the recording is kept as {}: mixstack convert {} -o FILE\n", *path, *path));
    break;
  }
  return ExitCode::output;
}

ExitCode RecordOutput::write(const Recording& recording, const Environment& environment) const {
  const auto path = write_to(path_of(recording), recording, environment);
  if (!path) return path.error() == ExitCode::output ? rescue(recording, environment) : path.error();
  if (!quiet_) FdOutput(environment.err).write(formats::empty_words(recording, format_, options_));
  if (*path != "-" && !quiet_)
    FdOutput(environment.err).write(fmt::format("mixstack: wrote {}\n", report::escape_for_terminal(*path)));
  return ExitCode::ok;
}

ExitCode RecordOutput::write_part(const Recording& recording, unsigned part, const Environment& environment) const {
  RecordOutput one = *this;
  one.path_ = path_of(recording);
  const std::string extension(formats::extension_of(format_));
  const std::size_t end = one.path_.ends_with(extension) ? one.path_.size() - extension.size() : one.path_.size();
  one.path_.insert(end, fmt::format(".{}", part));
  return one.write(recording, environment);
}

}  // namespace mixstack::cli
