// A core file that is still to be written: which memory lies where in it.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "mixstack/target.h"

namespace mixstack::pack {

/// Some neighbouring bytes of the process.
struct CorePiece {
  AddressRange range;
  std::span<const std::byte> bytes;  ///< borrowed; empty: read from memory when written
  bool is_public = false;            ///< of a file that the process cannot write to: nothing is blanked in it
};

class CoreLayout {
 public:
  /// `pieces` ascend and do not overlap.
  CoreLayout(Arch arch, std::vector<std::byte> notes, std::vector<CorePiece> pieces, std::span<const Region> regions);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Everything before the memory: ELF header, program headers, notes.
  [[nodiscard]] const std::vector<std::byte>& head() const { return head_; }
  [[nodiscard]] const std::vector<CorePiece>& pieces() const { return pieces_; }

 private:
  std::vector<std::byte> head_;
  std::vector<CorePiece> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace mixstack::pack
