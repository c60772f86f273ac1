// Files that stand in for pages a core does not hold, once it is proven that they are the ones that were mapped.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/images/image_relocations.h"
#include "mixstack/diagnosis.h"
#include "process/core/core_regions.h"
#include "process/core/dumped_memory.h"
#include "process/core/file_finder.h"

namespace mixstack::process {

/// Which pages of files stand in for those that a core lacks.
enum class PagesServed : std::uint8_t {
  unchangeable,  ///< those the program cannot have changed: what every reader gets
  as_loaded,     ///< all, as the loader made them: for data that is known to be constant, wherever it lies
};

/// Finds and proves files of the process, one per path, when first asked for.
///
/// A file is accepted when its build id is the one the core holds; without one, when the dumped pages of read-only
/// mappings are the file's byte by byte and one of them holds the image's headers (which a PE image's timestamp, size
/// and checksum are part of); without those, when the pointers in the dumped data sections of a ReadyToRun image are
/// those that the file has at the same places. A file that fails is reported and never used, as is one for which the
/// core holds nothing to compare.
///
/// Only what cannot have changed since it was loaded is served: pages of segments that are not writable, and RELRO
/// pages, with the loader's relocations applied. Thread-safe.
class CoreImages {
 public:
  /// Borrows everything but the finder. `regions` gets permissions from files where the core does not tell them.
  CoreImages(const DumpedMemory& dumped, Arch arch, FileFinder finder, std::vector<CoreRegion>& regions);
  ~CoreImages();
  CoreImages(const CoreImages&) = delete;
  CoreImages& operator=(const CoreImages&) = delete;

  /// The proven file behind a mapping. Errors: not_found (no file at all), mismatch, unsupported (nothing to prove it
  /// by).
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> file(const Region& region) const;
  /// Bytes of `region` from its file, relocated; all of `out` lies in `region`.
  [[nodiscard]] Result<std::size_t> read(const Region& region, Address address, std::span<std::byte> out,
                                         PagesServed pages) const;
  /// Any file at a path, unproven (debug files, which their readers verify).
  [[nodiscard]] const FileFinder& finder() const { return finder_; }
  /// Files that were missing or did not match, among those asked for so far.
  [[nodiscard]] std::vector<Diagnosis> diagnoses() const;

 private:
  struct MappedFile;
  [[nodiscard]] MappedFile& resolved(const Region& region) const;
  void resolve(MappedFile& file) const;
  void learn_permissions(std::vector<CoreRegion>& regions) const;

  const DumpedMemory& dumped_;
  Arch arch_;
  FileFinder finder_;
  std::vector<std::unique_ptr<MappedFile>> files_;  // by inode - 1
};

/// A core's memory: what was dumped, then what proven files say. Borrows everything. Thread-safe.
class CoreMemory final : public MemoryReader {
 public:
  CoreMemory(const DumpedMemory& dumped, const CoreImages& images, const std::vector<Region>& regions,
             PagesServed pages = PagesServed::unchangeable)
      : dumped_(dumped), images_(images), regions_(regions), pages_(pages) {}
  [[nodiscard]] bool has_whole_pages() const override { return dumped_.has_whole_pages(); }
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;

 private:
  const DumpedMemory& dumped_;
  const CoreImages& images_;
  const std::vector<Region>& regions_;
  PagesServed pages_;
};

}  // namespace mixstack::process
