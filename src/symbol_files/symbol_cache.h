// The folder of files that were fetched.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/scoped_fd.h"
#include "mixstack/diagnosis.h"
#include "mixstack/target.h"

namespace mixstack::symbol_files {

/// A file on its way in: written, proved by whoever fetched it, and then kept or dropped.
class StagedFile {
 public:
  StagedFile(base::ScopedFd fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  /// False: it could not be written; errno says why.
  [[nodiscard]] bool write(std::span<const std::byte> bytes);
  /// What was written, which stays readable whatever becomes of the file.
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> bytes() const;
  /// Name in the cache's folder; empty: it lies in memory.
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  base::ScopedFd fd_;
  std::string name_;
};

/// Files by name in one flat folder that belongs to our user and that nobody else can write to: so root does not
/// believe what others have prepared. A file appears whole or not at all (written under another name, then renamed).
/// What was used longest ago goes when there is more than `most_bytes`. Several programs may use it at once.
class SymbolCache {
 public:
  /// Makes the folder when something is first kept. `folder` empty: nothing is kept.
  SymbolCache(std::string folder, std::uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

  /// Why there is no cache where one was wanted; nothing when it is only not there yet.
  [[nodiscard]] const Diagnosis& refused() const { return refused_; }
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> find(const std::string& name);
  [[nodiscard]] std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  void remove(const std::string& name);

  /// A file to be written: in the folder, or in memory where there is none.
  [[nodiscard]] Result<StagedFile> stage();
  /// Gives it its name. False: it is not kept.
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
  unsigned staged_ = 0;
};

}  // namespace mixstack::symbol_files
