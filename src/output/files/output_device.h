// Checks the place of an output file, and opens devices and pipes safely.
#pragma once

#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "base/system/scoped_fd.h"

namespace mixstack::files {

/// A pipe, socket, terminal or another character device, which is written in place. Held by descriptor (O_PATH) since
/// `find`, so that a file that replaces it at the path is never opened.
class OutputDevice {
 public:
  /// Nothing: no device; output/files/output_file.h handles other files. Errors, as a sentence about the path: a link,
  /// unless it leads to a device and nobody else could have made it (/dev/stdout, /dev/fd/3); a block device.
  [[nodiscard]] static tl::expected<std::optional<OutputDevice>, std::string> find(const std::string& path);

  /// errno of access(2); 0: its mode allows writing.
  [[nodiscard]] int refusal() const;
  /// Opens it for blocking writes. Waits up to ten seconds for a reader of a pipe, or until a signal that ends a
  /// recording. The error is an errno; ENXIO: the pipe has no reader.
  [[nodiscard]] tl::expected<base::ScopedFd, int> open() const;
  [[nodiscard]] bool is_pipe() const { return is_pipe_; }

 private:
  OutputDevice(base::ScopedFd found, bool is_pipe) : found_(std::move(found)), is_pipe_(is_pipe) {}

  base::ScopedFd found_;  ///< O_PATH
  bool is_pipe_ = false;
};

/// Why nothing can be written at a place.
struct PlaceFault {
  std::string words{};  ///< a sentence for the user; empty: it can be written
  int os_error = 0;
};
/// Call it before recording. An empty path stands for a new file in the working folder.
[[nodiscard]] PlaceFault fault_of_place(const std::string& path);

}  // namespace mixstack::files
