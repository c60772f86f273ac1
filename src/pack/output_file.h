// A file that is there whole or not at all.
#pragma once

#include <string>

#include "base/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::pack {

/// Written without a name in the folder it will lie in, and given its name when it is whole: whatever happens to us
/// before, nothing is left (on file systems without O_TMPFILE a file NAME.XXXXXX after a SIGKILL). Only its owner may
/// read it (mode 0600).
class OutputFile {
 public:
  /// `replace`: an existing regular file may be replaced. Errors: `invalid_argument` with EEXIST (something is there),
  /// `io_error`, `permission_denied`.
  [[nodiscard]] static Result<OutputFile> create(const std::string& path, bool replace);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Gives it its name, in one step. Errors as of `create`.
  [[nodiscard]] Result<void> publish();

 private:
  OutputFile() = default;
  [[nodiscard]] int link_to(const std::string& name) const;
  [[nodiscard]] Result<void> publish_unnamed() const;

  std::string path_;
  std::string temporary_;  ///< its name so far; empty: none
  bool replace_ = false;
  base::ScopedFd fd_;
};

}  // namespace mixstack::pack
