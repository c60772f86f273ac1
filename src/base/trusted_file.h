// Files that are executed or loaded: which of them may be.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/scoped_fd.h"
#include "mixstack/diagnosis.h"

namespace mixstack::base {

/// A program that was found good, held by descriptor: what is executed is what was checked, whatever lies at the path
/// by then.
struct TrustedFile {
  ScopedFd fd;  ///< O_PATH; to be executed as /proc/self/fd/N or with execveat(AT_EMPTY_PATH)
  std::string path;
};

/// Whose files are trusted beside root's.
struct ProgramTrust {
  uid_t user = 0;
  uid_t root = 0;          ///< who counts as root beside root: of another user namespace its own
  int root_folder = -1;    ///< descriptor of the folder that stands for /; -1: /
  bool is_program = true;  ///< else a library that another process is asked to load: it need not be executable
  /// Of this process: its effective user. Root alone when it runs with more rights than its user has (AT_SECURE:
  /// set-user-id, file capabilities), for then that user is who it must not believe.
  [[nodiscard]] static ProgramTrust own();
};

/// Opens a regular, executable file if it and every folder on the way from / to it, links and the folders of links
/// included, belong to root or the trusted user and can be written by nobody else. A sticky folder (/tmp) is not
/// enough: everybody can put files into it. Each step is taken by descriptor, so nothing can be exchanged between the
/// look and the use. A refusal names the path that is to blame, whose it is and what to do; a file that is not there is
/// `not_found`, everything else `permission_denied`, `unsupported` (no regular file) or `io_error`.
[[nodiscard]] tl::expected<TrustedFile, Diagnosis> open_trusted_file(const std::string& path,
                                                                     ProgramTrust trust = ProgramTrust::own());

}  // namespace mixstack::base
