// Where a recording is written to, and as what.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "cli/program.h"
#include "cli/record_arguments.h"
#include "formats/format.h"
#include "model/recording.h"

namespace mixstack::cli {

/// Why nothing can be recorded.
struct OutputFault {
  ExitCode code = ExitCode::usage;  ///< `output`: the command line is right, and the place is not
  std::string words;                ///< a sentence for the user
};

/// Decided before anything is recorded.
class RecordOutput {
 public:
  /// Errors: usage, a format that is none; output, a place that cannot be written to.
  [[nodiscard]] static tl::expected<RecordOutput, OutputFault> make(const RecordArguments& arguments);
  /// Says where it is. What cannot be written there is kept as a raw recording in another place, which is said, too.
  [[nodiscard]] ExitCode write(const Recording& recording, const Environment& environment) const;
  /// The file of one of several in a row: "flame.3.html".
  [[nodiscard]] ExitCode write_part(const Recording& recording, unsigned part, const Environment& environment) const;

 private:
  [[nodiscard]] std::string path_of(const Recording& recording) const;
  /// The path it has.
  [[nodiscard]] tl::expected<std::string, ExitCode> write_to(const std::string& path, const Recording& recording,
                                                             const Environment& environment) const;
  [[nodiscard]] ExitCode rescue(const Recording& recording, const Environment& environment) const;

  std::string path_;          ///< empty: made of the process's name; "-": standard output
  bool names_itself_ = true;  ///< nothing is replaced by a file whose name nobody chose
  formats::Format format_ = formats::Format::html;
  ProfileOptions options_;
  bool quiet_ = false;
};

}  // namespace mixstack::cli
