// What lies where something is to be written.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "base/scoped_fd.h"

namespace mixstack::cli {

/// A pipe, a terminal or another character device, which is written to and keeps its name. It is held from when it was
/// found: what takes its place at the path meanwhile is never opened.
class OutputDevice {
 public:
  /// Nothing: there is no device, and whatever there is is left to who makes files (pack/output_file.h). Errors, as a
  /// sentence about the path: a link, unless it leads to a device and nobody else could have made it or put it there
  /// (/dev/stdout, /dev/fd/3); a block device.
  [[nodiscard]] static tl::expected<std::optional<OutputDevice>, std::string> find(const std::string& path);

  /// errno; 0: it may be written to, as far as its mode says.
  [[nodiscard]] int refusal() const;
  /// For writing that waits. A pipe is given ten seconds to have a reader, or until a signal that ends a recording; the
  /// error is an errno, ENXIO of a pipe that has none.
  [[nodiscard]] tl::expected<base::ScopedFd, int> open() const;
  [[nodiscard]] bool is_pipe() const { return is_pipe_; }

 private:
  OutputDevice(base::ScopedFd found, bool is_pipe) : found_(std::move(found)), is_pipe_(is_pipe) {}

  base::ScopedFd found_;  ///< O_PATH
  bool is_pipe_ = false;
};

/// Empty: something can be written there. Else a sentence for the user. To be asked before anything is recorded; an
/// empty path stands for a new file in the working folder.
[[nodiscard]] std::string fault_of_place(const std::string& path);

}  // namespace mixstack::cli
