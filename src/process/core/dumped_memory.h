// The memory that a core file holds.
#pragma once

#include "mixstack/memory_reader.h"
#include "process/core/core_file.h"

namespace mixstack::process {

/// The bytes that were written to the core, and nothing else. Borrows the file. Thread-safe.
class DumpedMemory final : public MemoryReader {
 public:
  explicit DumpedMemory(const CoreFile& file) : file_(file) {}
  [[nodiscard]] Result<std::size_t> read_some(Address address, std::span<std::byte> out) const override;
  [[nodiscard]] bool has_whole_pages() const override { return file_.has_whole_pages(); }
  /// The first address at or above `address` that the core holds; `end` when there is none below it.
  [[nodiscard]] Address next_dumped(Address address, Address end) const;

 private:
  const CoreFile& file_;
};

}  // namespace mixstack::process
