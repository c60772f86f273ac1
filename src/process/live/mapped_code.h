// Which code of files a process has mapped, asked in the stop.
#pragma once

#include <span>
#include <vector>

#include "base/system/scoped_fd.h"
#include "mixstack/target.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// An executable mapping of a file, as loaders make them: private. (Code generators map shared memory.)
struct MappedCode {
  AddressRange range;
  std::uint64_t file_offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t device_major = 0, device_minor = 0;
  friend bool operator==(const MappedCode&, const MappedCode&) = default;
};
[[nodiscard]] std::vector<MappedCode> mapped_code(std::span<const Region> regions);

/// Asks the kernel for those mappings alone (PROCMAP_QUERY of /proc/PID/maps, Linux 6.11), which takes a fraction of
/// the time that the whole list takes: a process has some hundred mappings, and some dozen of these.
class MappedCodeQuery {
 public:
  /// Opens the list; to be called before the stop.
  explicit MappedCodeQuery(const ProcDir& proc);
  /// Allocates nothing when `reserve` was called with enough. Errors: `unsupported` (an older kernel), `io_error`.
  [[nodiscard]] Result<void> ask(std::vector<MappedCode>& out) const;

 private:
  base::ScopedFd maps_;
};

}  // namespace mixstack::process
