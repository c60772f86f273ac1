// Which pages of a process are in memory.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/system/scoped_fd.h"
#include "mixstack/result.h"
#include "mixstack/target.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// A mapping, and how much of it is in memory.
struct ResidentMapping {
  Region region;
  std::uint64_t resident = 0, swapped = 0;  ///< bytes
};

/// Parses /proc/PID/smaps. Lines that do not have its form are left out, with what belongs to them.
[[nodiscard]] std::vector<ResidentMapping> parse_resident_mappings(std::string_view text);
/// The same of a running process. Some milliseconds for a gigabyte.
[[nodiscard]] Result<std::vector<ResidentMapping>> resident_mappings(const ProcDir& proc);

/// Adds the pages that entries of a pagemap file say are in memory; the first entry is that of `begin`. A page right
/// behind the last range makes it longer.
void add_present(std::span<const std::uint64_t> entries, Address begin, std::uint64_t page_bytes,
                 std::vector<AddressRange>& found);

/// Asks the kernel which pages are there, by PAGEMAP_SCAN (Linux 6.7) or the pagemap file. The page of zeros that the
/// kernel lends, which it counts as nobody's, is left out only by the first. Not thread-safe.
class ResidentPages {
 public:
  [[nodiscard]] static Result<ResidentPages> open(const ProcDir& proc);
  /// Calls `use` for each range of pages that are in memory, in order. False: the kernel does not tell.
  template <class Use>
  [[nodiscard]] bool each(AddressRange range, Use&& use) {
    while (!range.empty()) {
      found_.clear();
      if (!next(range)) return false;
      for (const AddressRange& r : found_) use(r);
    }
    return true;
  }
  /// Whether pages of zeros are left out.
  [[nodiscard]] bool is_exact() const { return has_scan_; }

 private:
  explicit ResidentPages(base::ScopedFd file) : file_(std::move(file)) {}
  /// Adds what is found to `found_`, and takes the part that was asked about off `range`.
  [[nodiscard]] bool next(AddressRange& range);
  [[nodiscard]] bool scan(AddressRange& range);
  [[nodiscard]] bool read(AddressRange& range);

  base::ScopedFd file_;
  bool has_scan_ = true;
  std::vector<AddressRange> found_;
};

}  // namespace mixstack::process
