// Writes output whole: a file that appears when it is complete, a device or a pipe in place, standard output.
#pragma once

#include <functional>
#include <string>
#include <tl/expected.hpp>

#include "output/report/writer.h"

namespace mixstack::files {

using WriteOutput = std::function<void(report::Writer&)>;

/// Why there is no output, as a sentence for the user (escaped).
struct NotWritten {
  enum class Why : unsigned char {
    place,         ///< it cannot be written there
    for_terminal,  ///< a format that is nothing for a terminal
  };
  Why why = Why::place;
  std::string words{};
  int os_error = 0;  ///< errno; 0: none
};

/// Where output goes, and how.
struct OutputPlace {
  std::string path{};       ///< "-": `standard_output`
  bool is_text = true;      ///< may be shown at a terminal
  int standard_output = 1;  ///< borrowed
};

/// Writes a whole file or none; an existing file is replaced. Pipes and devices are written in place
/// (output_device.h), and links that lead elsewhere are refused. A file that root makes by sudo is given to the user
/// who asked. Signals of full disks and closed pipes are ignored from then on.
[[nodiscard]] tl::expected<void, NotWritten> write_output(const OutputPlace& place, const WriteOutput& write);

/// As `write_output` for a file, but never replaces one: if the name is taken, a number is inserted before `suffix`,
/// the end of the path. Returns the actual path.
[[nodiscard]] tl::expected<std::string, NotWritten> write_new_file(const std::string& path, const std::string& suffix,
                                                                   const WriteOutput& write);

/// Writes text to a descriptor. Returns errno; 0: success.
[[nodiscard]] int write_text_to(int fd, const WriteOutput& write);

}  // namespace mixstack::files
