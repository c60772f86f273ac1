// The folder of fetched files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/system/scoped_fd.h"
#include "mixstack/diagnosis.h"
#include "mixstack/target.h"

namespace mixstack::symbol_files {

/// A new file: written, proved by the code that fetched it, then kept or dropped.
class StagedFile {
 public:
  StagedFile(base::ScopedFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  /// False: it could not be written; errno says why.
  [[nodiscard]] bool write(std::span<const std::byte> bytes);
  /// The written bytes, which stay readable when the file is renamed or removed.
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> bytes() const;
  /// Name in the cache's folder; empty: it lies in memory.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  base::ScopedFd fd_;
  std::string name_;
};

/// Files by name in one flat folder that belongs to our user and that no other user can write to, so that root does not
/// use files that others have prepared. A file appears whole or not at all (written under another name, then renamed).
/// When there is more than `most_bytes`, the files used longest ago are removed. Several programs may use it at once.
class SymbolCache {
 public:
  /// Makes the folder when something is first kept. `folder` empty: nothing is kept.
  SymbolCache(std::string folder, std::uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  /// Why there is no cache although one was wanted; nothing when it just does not exist yet.
  [[nodiscard]] const Diagnosis& refused() const { return refused_; }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> find(const std::string& name);
  [[nodiscard]] std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  void remove(const std::string& name);

  /// A new file to write: in the folder, or in memory where there is none.
  [[nodiscard]] Result<StagedFile> stage();
  /// Gives the file its name. False: it is not kept.
  bool keep(const StagedFile& file, const std::string& name);
  void drop(const StagedFile& file);

 private:
  /// The folder, opened if it may be used; made if `makes` and it is not there.
  [[nodiscard]] bool open(bool makes);
  void make_room(const std::string& newest);

  std::string folder_;
  std::uint64_t most_bytes_;
  base::ScopedFd fd_;
  Diagnosis refused_;
};

}  // namespace mixstack::symbol_files
