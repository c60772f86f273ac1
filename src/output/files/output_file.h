// A file that appears whole or not at all.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"

namespace mixstack::files {

/// Written without a name in its final folder, and named when it is whole: whatever happens to us before, nothing is
/// left (on file systems without O_TMPFILE, a file NAME.PID-N after a SIGKILL). Only its owner may read it (mode 0600),
/// unless `be_readable_as_usual` was called. The folder is looked up once, and no link at the name is followed: a user
/// who may write to the folder can hinder us, but not redirect us to another file.
class OutputFile {
 public:
  /// `replace`: an existing regular file may be replaced. Errors: `invalid_argument` with EEXIST (something is there),
  /// `io_error`, `permission_denied`.
  [[nodiscard]] static Result<OutputFile> create(const std::string& path, bool replace);
  /// Replaces nothing: where the name is taken, it will be the first free one of NAME-2SUFFIX, NAME-3SUFFIX and so on.
  /// `suffix`: the end of the path that stays the end. Errors as of `create`; EEXIST: too many are taken.
  [[nodiscard]] static Result<OutputFile> create_free(const std::string& path, const std::string& suffix);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Its mode once it is named: as the umask says or, if it replaces a file, that file's; no more than both allow if
  /// that file is another user's.
  void be_readable_as_usual() { as_usual_ = true; }
  /// Gives it its name, in one step, and answers the path it has. Errors as of `create`.
  [[nodiscard]] Result<std::string> publish();

 private:
  OutputFile() = default;
  [[nodiscard]] Result<void> open(const std::string& path);
  [[nodiscard]] int open_named();
  [[nodiscard]] int taken(const std::string& name) const;
  [[nodiscard]] std::string numbered(unsigned number) const;
  [[nodiscard]] int link_to(const std::string& name) const;
  void set_mode(const std::string& name) const;
  // errno of the failure; 0: it has the name
  [[nodiscard]] int publish_as(const std::string& name);
  [[nodiscard]] int publish_unnamed(const std::string& name) const;
  [[nodiscard]] int publish_named(const std::string& name);

  std::string folder_path_;  ///< with the slash behind it; empty: the working folder
  base::ScopedFd folder_;
  std::string name_;       ///< in the folder
  std::string temporary_;  ///< its name so far; empty: none
  std::string suffix_;     ///< of `name_`, what stays behind a number
  bool replace_ = false, may_be_numbered_ = false, as_usual_ = false;
  base::ScopedFd fd_;
};

}  // namespace mixstack::files
