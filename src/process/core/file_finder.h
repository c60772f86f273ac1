// Where the files of a dead process may lie on this machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/system/scoped_fd.h"
#include "engine/images/elf_image.h"
#include "mixstack/diagnosis.h"
#include "mixstack/target.h"

namespace mixstack::process {

/// A file that may be the one that was mapped.
struct FileCandidate {
  std::shared_ptr<const FileBytes> file;
  std::string where;  ///< its path on this machine, for messages
};

/// Fetches an image by build id from elsewhere, which may take its time; an error when there is none.
using FileFetcher = std::function<Result<FileCandidate>(const images::BuildId& build_id, const std::string& path)>;

/// Files that come with the core itself, by their path on its machine. Thread-safe.
using PackedFiles = std::function<Result<std::shared_ptr<const FileBytes>>(const std::string& path)>;

struct FileFinderOptions {
  std::vector<std::string> sysroots;  ///< searched in this order
  std::string executable;             ///< stands for `executable_path`; empty: none
  std::string executable_path;        ///< the path in the core it stands for
  bool use_own_files = true;          ///< this machine's own root, last
  FileFetcher fetch;                  ///< asked when all else failed; null: nobody
  PackedFiles packed;                 ///< looked into first of all, by full path and build id; empty: none
};

/// Looks for files by path and build id. Opens nothing that the folders given do not hold: links are resolved inside
/// each sysroot. Thread-safe once made.
class FileFinder {
 public:
  explicit FileFinder(FileFinderOptions options);

  /// Calls `accept` with each file that might be `path`, most likely first, until it answers true: the given
  /// executable, files that come with the core, then for each root the full path, the bare name, and the folders of
  /// binaries by build id (/usr/lib/debug/.build-id and .build-id); last, `fetch`. `build_id` may be empty. Answers
  /// whether one was accepted.
  bool find(const std::string& path, const images::BuildId& build_id,
            const std::function<bool(const FileCandidate&)>& accept) const;
  /// The first file there is at that path (debug files beside an image). Nothing is verified.
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open(const std::string& path) const;
  /// Folders that could not be opened.
  [[nodiscard]] const std::vector<std::string>& missing_roots() const { return missing_roots_; }

 private:
  struct Root {
    std::string path;
    base::ScopedFd fd;
    bool is_own = false;
    bool is_packed = false;
    /// Whether files lie in it under their bare names, too.
    [[nodiscard]] bool may_be_flat() const { return !is_own && !is_packed; }
  };
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_in(const Root& root, const std::string& path) const;

  FileFinderOptions options_;
  std::vector<Root> roots_;
  std::vector<std::string> missing_roots_;
};

}  // namespace mixstack::process
