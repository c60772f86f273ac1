#include "cli/record_output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "cli/empty_view.h"
#include "cli/fd_output.h"
#include "cli/profile_file.h"
#include "report/escape.h"

namespace mixstack::cli {
namespace {

using formats::Format;

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// What of a name may stand in a file's.
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

/// Empty: something can be written there. Looked at before anything is recorded.
std::string fault_of_place(const std::string& path) {
  const auto refused = [](const std::string& place, int error) {
    return "nothing can be written in " + report::escape_for_terminal(place) + ": " +
           std::generic_category().message(error) + ". Nothing was recorded; another place: -o FILE";
  };
  struct stat there {};
  const bool is_there = !path.empty() && ::stat(path.c_str(), &there) == 0;
  if (is_there && S_ISDIR(there.st_mode)) return refused(path, EISDIR);
  // Devices and pipes are written to, and nothing is made beside them.
  if (is_there && !S_ISREG(there.st_mode)) return ::access(path.c_str(), W_OK) == 0 ? "" : refused(path, errno);
  const std::string folder = folder_of(path);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return refused(folder, errno);
  struct stat link {};
  const bool is_any = !path.empty() && ::lstat(path.c_str(), &link) == 0;
  if (is_any && S_ISLNK(link.st_mode))
    return report::escape_for_terminal(path) +
           " is a link, and links are not followed. Nothing was recorded; another place: -o FILE, or -o - for "
           "standard output";
  return !path.empty() && !is_any && errno != ENOENT ? refused(path, errno) : "";
}

}  // namespace

tl::expected<RecordOutput, OutputFault> RecordOutput::make(const RecordArguments& arguments) {
  RecordOutput output;
  const auto format = format_for(arguments);
  if (!format) return tl::unexpected(OutputFault{ExitCode::usage, format.error()});
  output.format_ = *format;
  output.path_ = arguments.out;
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

ExitCode RecordOutput::write_to(const std::string& path, Format format, const Recording& recording,
                                const Environment& environment) const {
  return write_profile_file(path, formats::is_text(format), environment,
                            [&](report::Writer& out) { formats::write_as(format, out, recording, options_); });
}

/// Two that are kept in the same second have names of their own.
std::optional<std::string> RecordOutput::write_free(const std::string& path, const Recording& recording,
                                                    const Environment& environment) const {
  Environment silent = environment;
  silent.err = -1;
  constexpr int kTries = 100;
  const std::string extension(formats::extension_of(Format::recording));
  for (int i = 1; i <= kTries; i++) {
    std::string name = path;
    if (i > 1) name.insert(name.size() - extension.size(), fmt::format("-{}", i));
    struct stat there {};
    if (::lstat(name.c_str(), &there) == 0) continue;
    const auto write = [&](report::Writer& out) { formats::write_as(Format::recording, out, recording, options_); };
    if (write_profile_file(name, false, silent, write, false) == ExitCode::ok) return name;
    if (::lstat(name.c_str(), &there) != 0) return std::nullopt;  // it was not for the name
  }
  return std::nullopt;
}

/// What was recorded is not lost because a disk is full.
ExitCode RecordOutput::rescue(const Recording& recording, const Environment& environment) const {
  for (const char* folder : {"/var/tmp", "/tmp", "/dev/shm"}) {
    RecordOutput raw;
    raw.format_ = Format::recording;
    const auto path = raw.write_free(std::string(folder) + "/" + raw.path_of(recording), recording, environment);
    if (!path) continue;
    FdOutput(environment.err)
        .write(fmt::format("mixstack: the recording is kept as {}: mixstack convert {} -o FILE\n", *path, *path));
    break;
  }
  return ExitCode::output;
}

ExitCode RecordOutput::write(const Recording& recording, const Environment& environment) const {
  const std::string path = path_of(recording);
  const ExitCode code = write_to(path, format_, recording, environment);
  if (code == ExitCode::output) return rescue(recording, environment);
  if (code == ExitCode::ok && !quiet_) say_if_empty(recording, format_, options_, environment);
  if (code == ExitCode::ok && path != "-" && !quiet_)
    FdOutput(environment.err).write(fmt::format("mixstack: wrote {}\n", report::escape_for_terminal(path)));
  return code;
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
