// The records between two positions of a ring of bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::perf {

/// Goes from record to record. Borrows the ring, whose size is a power of two and whose bytes between the positions
/// nobody changes meanwhile. Not thread-safe.
class RecordWindow {
 public:
  explicit RecordWindow(std::span<const std::byte> ring) : ring_(ring) {}

  /// Sets the end of the records to `head`. False: no ring holds so much, or `head` went back; then there are no
  /// records.
  [[nodiscard]] bool extend(std::uint64_t head);
  [[nodiscard]] bool is_empty() const { return tail_ == head_; }
  /// The record at the tail, in the ring or, if it is torn by the ring's end, in a copy that is valid until the next
  /// call. Errors: `malformed`: it is no record, so the start of the next one is unknown.
  [[nodiscard]] Result<std::span<const std::byte>> first();
  /// Consumes the first record.
  void drop_first(std::size_t bytes) { tail_ += bytes; }
  /// Consumes all records.
  void drop_all() { tail_ = head_; }
  [[nodiscard]] std::uint64_t tail() const { return tail_; }

 private:
  std::span<const std::byte> ring_;
  std::uint64_t tail_ = 0, head_ = 0;
  std::vector<std::byte> torn_;
};

}  // namespace mixstack::perf
