// The memory of another process, read in bulk and without stopping it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/system/scoped_fd.h"
#include "mixstack/memory_reader.h"

namespace mixstack::memory {

/// One piece of a bulk read. `done` is set by the read: how many bytes from the front of `out` hold target bytes.
struct RangeRead {
  Address address = 0;
  std::span<std::byte> out;
  std::size_t done = 0;
  std::size_t limit = ~std::size_t{0};  ///< reads no more than so many bytes of it
  [[nodiscard]] std::size_t wanted() const { return out.size() < limit ? out.size() : limit; }
};

/// Memory that can be read in many places at once.
class BulkMemory : public MemoryReader {
 public:
  /// A range that cannot be read, or not to its end, does not disturb the others: its `done`, 0 before the call, says
  /// how much of it there is.
  virtual void read_ranges(std::span<RangeRead> ranges) const = 0;
};

/// Reads with process_vm_readv; where the kernel refuses that call (seccomp filters, CONFIG_CROSS_MEMORY_ATTACH off)
/// with pread on an open /proc/PID/mem. Nothing is cached and nothing is allocated by a read. Thread-safe.
///
/// A read ends at the first page that cannot be read, as `MemoryReader` promises. Pages without read permission are
/// unreadable by the first way and readable by the second: it ignores protections, as every debugger's access does.
class ProcessMemory final : public BulkMemory {
 public:
  /// `tid` may be any thread of the process. `mem` is an open /proc/PID/mem, or nothing when there is no second way.
  explicit ProcessMemory(std::uint32_t tid, base::ScopedFd mem = {}) : tid_(tid), mem_(std::move(mem)) {}

  /// Errors: `unreadable_memory` (value is the address), `no_such_process`, `permission_denied`.
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;

  /// With as few system calls as the kernel allows (1024 ranges each).
  void read_ranges(std::span<RangeRead> ranges) const override;

 private:
  /// Reads ranges in order until one is not whole; answers how many were tried, 0 when the kernel refuses.
  [[nodiscard]] std::size_t read_batch(std::span<RangeRead> ranges) const;
  [[nodiscard]] Result<std::size_t> read_file(Address address, std::span<std::byte> out) const;

  std::uint32_t tid_;
  base::ScopedFd mem_;
  mutable std::atomic<bool> use_file_{false};
};

}  // namespace mixstack::memory
