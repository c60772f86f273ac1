// A process of this machine as /proc shows it: one view, whichever source captures its threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/live/guest_memory.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// Mappings as they were listed, and what the kernel said of their sizes before that.
struct ListedMappings {
  std::shared_ptr<const std::vector<Region>> regions;  ///< null: not listed yet
  MappedSizes sizes;
  std::chrono::steady_clock::time_point at;
};

/// Mappings, files and memory of the program that the process runs. `proc`, `info` and `auxv` never change once made;
/// an exec makes another program. Thread-safe as its parts are.
struct ProcessView {
  ProcDir proc;
  TargetInfo info;
  std::string auxv;  ///< as the kernel gave it; empty: not readable
  mutable GuestMemory memory;

  /// All but `info`. `auxv` is empty where we have no right to it.
  explicit ProcessView(ProcDir directory);
  ProcessView(const ProcessView&) = delete;
  ProcessView& operator=(const ProcessView&) = delete;

  /// Errors: those of ProcDir::open and read_process_info.
  [[nodiscard]] static Result<std::shared_ptr<ProcessView>> open(std::uint32_t pid);

  /// The mappings at this moment.
  [[nodiscard]] Result<std::vector<Region>> read_regions() const;
  /// The same; `memory` refers to them from now on.
  [[nodiscard]] Result<std::vector<Region>> regions() const;
  /// The last answer of `regions`.
  [[nodiscard]] ListedMappings listed() const;
  /// The very file that is mapped, opened once as long as `memory` knows it. Errors: those of open_mapped_file.
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_file(const Region& region) const;
  [[nodiscard]] Result<std::shared_ptr<const FileBytes>> open_path(const std::string& path) const;
  /// Errors: process_changed (another program runs there now), no_such_process, those of reading /proc.
  [[nodiscard]] Result<void> check_same_program() const;

 private:
  mutable std::mutex listed_mutex_;
  mutable ListedMappings listed_;
};

}  // namespace mixstack::process
