// The place and format that a recording is written to.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "frontends/cli/program.h"
#include "frontends/cli/record_arguments.h"
#include "mixstack/recording.h"
#include "output/formats/format.h"

namespace mixstack::cli {

/// Why nothing can be recorded.
struct OutputFault {
  ExitCode code = ExitCode::usage;  ///< `output`: the command line is valid, but the place is not writable
  std::string words;                ///< a sentence for the user
};

/// Made before recording starts, so that errors cost no recording.
class RecordOutput {
 public:
  /// Errors: usage, an unknown format; output, a place that cannot be written to.
  [[nodiscard]] static tl::expected<RecordOutput, OutputFault> make(const RecordArguments& arguments);
  /// Writes the file and prints its path. On failure saves a raw recording elsewhere, and prints that path.
  [[nodiscard]] ExitCode write(const Recording& recording, const Environment& environment) const;
  /// Writes one of several files: "flame.3.html".
  [[nodiscard]] ExitCode write_part(const Recording& recording, unsigned part, const Environment& environment) const;

 private:
  [[nodiscard]] std::string path_of(const Recording& recording) const;
  /// Returns the actual path.
  [[nodiscard]] tl::expected<std::string, ExitCode> write_to(const std::string& path, const Recording& recording,
                                                             const Environment& environment) const;
  [[nodiscard]] ExitCode rescue(const Recording& recording, const Environment& environment) const;

  std::string path_;          ///< empty: made of the process's name; "-": standard output
  bool names_itself_ = true;  ///< the name is made up, so the file must not replace another
  formats::Format format_ = formats::Format::html;
  ProfileOptions options_;
  bool quiet_ = false;
};

}  // namespace mixstack::cli
