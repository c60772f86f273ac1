// The memory of our own process, read so that nothing can fault.
#pragma once

#include "base/memory/page_probe.h"
#include "mixstack/memory_reader.h"

namespace mixstack::memory {

/// Reads by process_vm_readv on ourselves, which needs no permission: a page that other threads unmap meanwhile ends
/// the read instead of the process. Where a sandbox refuses that call, pages are probed and then read directly, which
/// leaves a moment in which an unmapped page would fault; `is_fault_proof()` tells. Thread-safe, also after a fork.
class SelfMemory final : public MemoryReader {
 public:
  SelfMemory();
  /// Errors: `unreadable_memory` (value is the address).
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;
  [[nodiscard]] bool is_fault_proof() const { return can_copy_; }

 private:
  [[nodiscard]] Result<std::size_t> read_probed(Address address, std::span<std::byte> out) const;

  PageProbe probe_;
  bool can_copy_;
};

}  // namespace mixstack::memory
