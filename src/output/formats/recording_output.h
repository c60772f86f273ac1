// The place and format that a recording is written to.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "base/words/recording_view.h"
#include "mixstack/recording.h"
#include "output/files/written_file.h"
#include "output/formats/format.h"

namespace mixstack::formats {

/// As a user gives them.
struct RecordingOutputOptions {
  std::string path{};    ///< empty: a new file, called by the process and the time; "-": `standard_output`
  std::string format{};  ///< empty: by the end of the path
  ProfileOptions shown{};
  int standard_output = 1;
};

/// Why nothing can be recorded.
struct RecordingOutputFault {
  bool is_usage = true;  ///< false: the options are valid, but the place is not writable
  std::string words{};   ///< a sentence for the user
  int os_error = 0;
};

/// Where a recording went.
struct WrittenRecording {
  std::string path{};  ///< "-": standard output; empty: nothing was written
  std::optional<files::NotWritten> fault{};
  std::string rescued{};  ///< after a fault: the raw recording that was kept elsewhere; empty: none
};

/// Made before recording starts, so that errors cost no recording.
class RecordingOutput {
 public:
  [[nodiscard]] static tl::expected<RecordingOutput, RecordingOutputFault> make(RecordingOutputOptions options);
  /// On failure saves a raw recording elsewhere, so that a full disk does not lose it. `part`: a number of several
  /// files
  /// ("flame.3.html"); 0: there is one.
  [[nodiscard]] WrittenRecording write(const Recording& recording, unsigned part) const;
  /// Why the output shows nothing, as `empty_words`; empty: it shows something.
  [[nodiscard]] std::string empty_words(const Recording& recording) const;

 private:
  RecordingOutput(RecordingOutputOptions options, Format format) : options_(std::move(options)), format_(format) {}
  [[nodiscard]] std::string path_of(const Recording& recording) const;
  [[nodiscard]] std::string path_of_part(const Recording& recording, unsigned part) const;
  /// Returns the actual path.
  [[nodiscard]] tl::expected<std::string, files::NotWritten> write_to(const std::string& path,
                                                                      const Recording& recording) const;

  RecordingOutputOptions options_;
  Format format_;
};

}  // namespace mixstack::formats
