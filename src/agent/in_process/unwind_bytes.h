// Windows-style unwind data of our own process.
#pragma once

#include <algorithm>

#include "engine/unwind/windows/unwind_data.h"
#include "mixstack/memory_reader.h"

namespace mixstack::agent {

/// Reads page by page, so that a read beyond the end of a mapping still returns the bytes before it. As signal-safe as
/// the reader.
class UnwindBytes final : public unwind::windows::UnwindDataSource {
 public:
  UnwindBytes(const MemoryReader& memory, Address image_base) : memory_(memory), base_(image_base) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint32_t rva, std::span<std::byte> out) const override {
    constexpr Address kPage = 4096;
    std::size_t done = 0;
    while (done < out.size()) {
      const Address at = base_ + rva + done;
      const auto piece = out.subspan(done, std::min<std::size_t>(out.size() - done, kPage - at % kPage));
      const auto n = memory_.read_some(at, piece);
      if (!n) break;
      done += *n;
      if (*n < piece.size()) break;
    }
    if (done == 0 && !out.empty()) return fail(ErrorCode::unreadable_memory, base_ + rva);
    return done;
  }

 private:
  const MemoryReader& memory_;
  Address base_;
};

}  // namespace mixstack::agent
