// Memory of our own whose pages are there before they are used.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace mixstack::base {

/// Has the kernel give the whole pages of a piece of our memory at once: one by one, at their first use, they cost
/// several times as much. False: it cannot (MADV_POPULATE_WRITE is of Linux 5.14), and they come one by one.
inline bool populate(std::byte* begin, std::size_t size) {
  constexpr int kPopulateWrite = 23;  // missing from older headers
  constexpr std::uintptr_t kPage = 4096;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (at + kPage - 1) / kPage * kPage, last = (at + size) / kPage * kPage;
  return first >= last || ::madvise(begin + (first - at), last - first, kPopulateWrite) == 0;
}

}  // namespace mixstack::base
