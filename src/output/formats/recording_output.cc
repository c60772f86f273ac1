#include "output/formats/recording_output.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <ctime>
#include <utility>

#include "output/files/output_device.h"
#include "output/formats/empty_view.h"
#include "output/report/escape.h"

namespace mixstack::formats {
namespace {

/// Makes a process name fit for a file name.
std::string plain(std::string name) {
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '.' && c != '-'; }, '_');
  return name.empty() ? "process" : name.substr(0, 32);
}

tl::expected<Format, std::string> format_for(const RecordingOutputOptions& options) {
  if (!options.format.empty()) {
    const auto format = format_called(options.format);
    if (format) return *format;
    return tl::unexpected("--format: '" + options.format + "' is none of " + all_format_words());
  }
  if (options.path.empty()) return Format::html;
  if (options.path == "-") return Format::folded;
  const auto format = format_of(options.path);
  if (format) return *format;
  return tl::unexpected("the end of " + report::escape_for_terminal(options.path) +
                        " tells no format: .html, .svg, .folded, .speedscope.json, .pb.gz, .profile.json.gz, "
                        ".trace.json, .txt, .mxr, or --format with one of " +
                        all_format_words());
}

}  // namespace

tl::expected<RecordingOutput, RecordingOutputFault> RecordingOutput::make(RecordingOutputOptions options) {
  const auto format = format_for(options);
  if (!format) return tl::unexpected(RecordingOutputFault{true, format.error(), 0});
  if (options.path != "-") {
    if (auto fault = files::fault_of_place(options.path); !fault.words.empty())
      return tl::unexpected(RecordingOutputFault{false, std::move(fault.words), fault.os_error});
  }
  return RecordingOutput(std::move(options), *format);
}

std::string RecordingOutput::path_of(const Recording& recording) const {
  if (!options_.path.empty()) return options_.path;
  const auto& processes = recording.processes();
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  (void)::localtime_r(&now, &local);
  return fmt::format("mixstack-{}-{}-{:%Y%m%d-%H%M%S}{}", plain(processes.empty() ? "" : processes.front().comm),
                     processes.empty() ? 0 : processes.front().pid, local, extension_of(format_));
}

std::string RecordingOutput::path_of_part(const Recording& recording, unsigned part) const {
  std::string path = path_of(recording);
  if (part == 0) return path;
  const std::string extension(extension_of(format_));
  const std::size_t end = path.ends_with(extension) ? path.size() - extension.size() : path.size();
  return path.insert(end, fmt::format(".{}", part));
}

tl::expected<std::string, files::NotWritten> RecordingOutput::write_to(const std::string& path,
                                                                       const Recording& recording) const {
  const auto write = [&](report::Writer& out) { write_as(format_, out, recording, options_.shown); };
  // A name that we made up must not replace another file.
  if (options_.path.empty()) return files::write_new_file(path, std::string(extension_of(format_)), write);
  const auto written = files::write_output({path, is_text(format_), options_.standard_output}, write);
  if (!written) return tl::unexpected(written.error());
  return path;
}

std::string RecordingOutput::empty_words(const Recording& recording) const {
  return formats::empty_words(recording, format_, options_.shown);
}

WrittenRecording RecordingOutput::write(const Recording& recording, unsigned part) const {
  auto path = write_to(path_of_part(recording, part), recording);
  if (path) return {std::move(*path), {}, {}};
  WrittenRecording nothing{{}, path.error(), {}};
  if (path.error().why != files::NotWritten::Why::place) return nothing;
  const RecordingOutput raw({}, Format::recording);
  for (const char* folder : {"/var/tmp", "/tmp", "/dev/shm"}) {
    auto kept = raw.write_to(std::string(folder) + "/" + raw.path_of(recording), recording);
    if (!kept) continue;
    nothing.rescued = std::move(*kept);
    break;
  }
  return nothing;
}

}  // namespace mixstack::formats
