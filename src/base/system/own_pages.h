// Memory of our own, populated before it is used.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace mixstack::base {

/// Makes the kernel allocate the whole pages of a piece of our memory at once: page faults one by one cost several
/// times as much. False if it cannot (MADV_POPULATE_WRITE needs Linux 5.14); the pages then come one by one.
inline bool populate(std::byte* begin, std::size_t size) {
  constexpr int kPopulateWrite = 23;  // missing from older headers
  constexpr std::uintptr_t kPage = 4096;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (at + kPage - 1) / kPage * kPage, last = (at + size) / kPage * kPage;
  return first >= last || ::madvise(begin + (first - at), last - first, kPopulateWrite) == 0;
}

}  // namespace mixstack::base
