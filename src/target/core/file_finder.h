// Where the files of a dead process may lie on this machine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/scoped_fd.h"
#include "mixstack/diagnosis.h"
#include "mixstack/target.h"
#include "object/elf_image.h"
#include "target/debuginfod.h"

namespace mixstack::target {

struct FileFinderOptions {
  std::vector<std::string> sysroots;  ///< searched in this order
  std::string executable;             ///< stands for `executable_path`; empty: none
  std::string executable_path;        ///< the path in the core it stands for
  bool use_own_files = true;          ///< this machine's own root, last
  std::string debuginfod_find;        ///< program that fetches by build id, asked when all else failed; empty: none
};

/// A file that may be the one that was mapped.
struct FileCandidate {
  std::shared_ptr<const FileBytes> file;
  std::string where;  ///< its path on this machine, for messages
};

/// Looks for files by path and build id. Opens nothing that the folders given do not hold: links are resolved inside
/// each sysroot. Thread-safe once made.
class FileFinder {
 public:
  explicit FileFinder(FileFinderOptions options);

  /// Calls `accept` with each file that might be `path`, most likely first, until it answers true: the executable
  /// given, then per root the full path, the bare name, and the folders of binaries by build id
  /// (/usr/lib/debug/.build-id and .build-id). `build_id` may be empty. Answers whether one was accepted.
  bool find(const std::string& path, const object::BuildId& build_id,
            const std::function<bool(const FileCandidate&)>& accept) const;
  /// The first file there is at that path (debug files beside an image). Nothing is verified.
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open(const std::string& path) const;
  /// Folders that could not be opened.
  [[nodiscard]] const std::vector<std::string>& missing_roots() const { return missing_roots_; }
  /// Of what `debuginfod_find` was asked.
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const { return debuginfod_->diagnoses(); }

 private:
  struct Root {
    std::string path;
    base::ScopedFd fd;
    bool is_own = false;
  };
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_in(const Root& root, const std::string& path) const;

  FileFinderOptions options_;
  std::vector<Root> roots_;
  std::vector<std::string> missing_roots_;
  std::unique_ptr<Debuginfod> debuginfod_;
};

}  // namespace mixstack::target
