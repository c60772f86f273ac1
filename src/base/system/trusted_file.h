// Files that are executed or loaded: which of them may be.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/diagnosis.h"

namespace mixstack::base {

/// A program that passed the check, held by descriptor: what is executed is what was checked, whatever the path names
/// by then.
struct TrustedFile {
  ScopedFd fd;  ///< O_PATH; to be executed as /proc/self/fd/N or with execveat(AT_EMPTY_PATH)
  std::string path;
};

/// The users whose files are trusted, beside root.
struct ProgramTrust {
  uid_t user = 0;
  uid_t root = 0;          ///< counts as root, too: the root of another user namespace
  int root_folder = -1;    ///< descriptor of the folder that stands for /; -1: /
  bool is_program = true;  ///< else a library that another process is asked to load: it need not be executable
  /// For this process: its effective user. Root alone if it runs with more rights than its user has (AT_SECURE:
  /// set-user-id, file capabilities), since that user must not be trusted then.
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
