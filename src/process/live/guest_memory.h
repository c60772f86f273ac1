// The memory of a process that must not notice that it is read.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/memory/page_map.h"
#include "base/memory/process_memory.h"
#include "mixstack/target.h"
#include "process/live/proc_dir.h"

namespace mixstack::process {

/// Reading a page that is not present makes the kernel fill it: the process grows (a shared mapping may grow until its
/// memory cgroup kills it), or the read waits for the page's server (userfaultfd, FUSE, NFS). So only present pages are
/// read. Other pages are answered as the process would see them, without touching it: zeros for private memory never
/// touched, the file's bytes for file mappings that are private or only read. Pages that have neither cannot be read,
/// except a few in swap, which are brought back. Code of images is always read from the file, which proves to be the
/// mapped one, so that a library unloaded meanwhile can still be read.
///
/// If the kernel does not tell which pages are present (no /proc/PID/pagemap), all count as present.
///
/// Thread-safe. Errors: those of ProcessMemory.
class GuestMemory final : public memory::BulkMemory {
 public:
  using RegionList = std::shared_ptr<const std::vector<Region>>;
  static constexpr std::int64_t kSwapBudget = 4 << 20;

  /// Borrows `proc`. `load` reads the list of mappings when it is first needed; it may answer null.
  GuestMemory(const ProcDir& proc, base::ScopedFd mem, std::function<RegionList()> load);

  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;
  /// Reads only present pages.
  void read_ranges(std::span<memory::RangeRead> ranges) const override;
  /// Reads pages that the caller knows to be present, up to the limit of each range.
  void read_present(std::span<memory::RangeRead> ranges) const { memory_.read_ranges(ranges); }
  /// A view for the time in which the process stands still: only present pages, and never a file.
  [[nodiscard]] const memory::BulkMemory& in_stop() const { return in_stop_; }
  /// Whether a read of such a page cannot block the stop. A page of a file may be evicted between the look and the
  /// read; the read then waits for the file system, and if that does not answer (FUSE), not even a kill ends the wait.
  /// Memory that is shared without a file system (memfd, /dev/shm) always answers.
  [[nodiscard]] static bool answers_at_once(memory::PageMap::State state, const Region* region);
  /// Brings pages of the range that are in swap back into memory, as far as the budget goes (4 MiB a dump).
  void bring_back(AddressRange range) const;
  /// Whether pages were left in swap because the budget was used up.
  [[nodiscard]] bool is_swap_spent() const { return is_swap_spent_; }

  /// The mappings that reads refer to from now on, sorted by address.
  void use(RegionList regions);
  /// Another capture begins: pages seen present may have gone. Its budgets are new, unless it `goes_on`.
  void begin_capture(bool goes_on = false);
  /// The mapped file itself, opened once and kept; null if it cannot be opened.
  [[nodiscard]] std::shared_ptr<const FileBytes> file_of(const Region& region) const;
  [[nodiscard]] const memory::PageMap& pages() const { return pages_; }

 private:
  class InStop final : public memory::BulkMemory {
   public:
    explicit InStop(const GuestMemory& guest) : guest_(guest) {}
    [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;
    void read_ranges(std::span<memory::RangeRead> ranges) const override { guest_.read_ranges(ranges); }

   private:
    const GuestMemory& guest_;
  };
  using FileKey = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t>;

  [[nodiscard]] RegionList regions() const;
  [[nodiscard]] Result<std::size_t> read_in(const Region& region, Address address, std::span<std::byte> out) const;
  [[nodiscard]] Result<std::size_t> read_if_there(Address address, std::span<std::byte> out) const;
  [[nodiscard]] Result<std::size_t> read_page(const memory::PageMap::Run& run, Address address,
                                              std::span<std::byte> out) const;
  [[nodiscard]] Result<std::size_t> read_past(const Region& region, Address address, std::span<std::byte> out) const;
  [[nodiscard]] Result<std::size_t> read_file(const Region& region, Address address, std::span<std::byte> out) const;
  [[nodiscard]] bool take_from_budget(std::atomic<std::int64_t>& budget, std::size_t size) const;

  const ProcDir& proc_;
  memory::ProcessMemory memory_;
  memory::PageMap pages_;
  InStop in_stop_{*this};
  mutable std::mutex mutex_;
  std::function<RegionList()> load_;
  mutable RegionList regions_;
  mutable std::map<FileKey, std::shared_ptr<const FileBytes>> files_;  // null: cannot be opened
  mutable std::atomic<bool> is_swap_spent_{false};
  mutable std::atomic<std::int64_t> swap_budget_{0};
  mutable std::atomic<std::int64_t> touch_budget_{0};
};

}  // namespace mixstack::process
