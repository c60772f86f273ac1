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

/// The same of pages that are this process's own, or a file's. The page of zeros that the kernel lends is neither, nor
/// is a page that the process has in common with another one since a fork.
void add_owned(std::span<const std::uint64_t> entries, Address begin, std::uint64_t page_bytes,
               std::vector<AddressRange>& found);

/// Asks the kernel which pages are there, by PAGEMAP_SCAN (Linux 6.7) or the pagemap file. The page of zeros that the
/// kernel lends, which it counts as nobody's, is left out by the first; by the second where a mapping is asked for
/// whose pages the kernel has counted, and no page of it is in common with another process. Not thread-safe.
class ResidentPages {
 public:
  [[nodiscard]] static Result<ResidentPages> open(const ProcDir& proc);
  /// Calls `use` for each range of pages that are in memory, in order. False: the kernel does not tell.
  template <class Use>
  [[nodiscard]] bool each(AddressRange range, Use&& use) {
    while (!range.empty()) {
      found_.clear();
      owned_.clear();
      if (!next(range)) return false;
      has_zeros_ = has_zeros_ || !has_scan_;
      for (const AddressRange& r : found_) use(r);
    }
    return true;
  }
  /// The same of all pages of a mapping.
  template <class Use>
  [[nodiscard]] bool each_counted(const ResidentMapping& mapping, Use&& use) {
    found_.clear();
    owned_.clear();
    for (AddressRange left = mapping.region.range; !left.empty();)
      if (!next(left)) return false;
    if (!has_scan_) leave_zeros_out(mapping.resident);
    for (const AddressRange& r : found_) use(r);
    return true;
  }
  /// As on an older kernel.
  void forgo_scan() { has_scan_ = false; }
  /// Whether pages of zeros were left out so far.
  [[nodiscard]] bool is_exact() const { return has_scan_ || !has_zeros_; }

 private:
  explicit ResidentPages(base::ScopedFd file) : file_(std::move(file)) {}
  /// Adds what is found to `found_`, and takes the part that was asked about off `range`.
  [[nodiscard]] bool next(AddressRange& range);
  [[nodiscard]] bool scan(AddressRange& range);
  [[nodiscard]] bool read(AddressRange& range);

  /// Takes those off that `read` has found beyond the bytes that the kernel counts.
  void leave_zeros_out(std::uint64_t counted);

  base::ScopedFd file_;
  bool has_scan_ = true, has_zeros_ = false;
  std::vector<AddressRange> found_, owned_;
};

}  // namespace mixstack::process
