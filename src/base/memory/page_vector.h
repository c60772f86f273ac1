// Memory of our own that goes back to the kernel when it is not wanted any more.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

namespace mixstack::memory {

/// Gives whole pages of a piece of our memory back; what they held is lost.
inline void give_back(std::byte* begin, std::size_t size) {
  constexpr std::uintptr_t kPage = 4096;
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (at + kPage - 1) / kPage * kPage, last = (at + size) / kPage * kPage;
  if (first < last) (void)::madvise(begin + (first - at), last - first, MADV_DONTNEED);
}

/// Pages of one's own for each block, which are the kernel's again as soon as it is freed: malloc may keep blocks of
/// some hundred kilobytes for long.
template <class T>
struct PageAllocator {
  using value_type = T;
  T* allocate(std::size_t n) {
    void* at = ::mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();  // as any allocator of the standard library's containers
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t n) noexcept { (void)::munmap(at, n * sizeof(T)); }
  friend bool operator==(const PageAllocator& /*a*/, const PageAllocator& /*b*/) { return true; }
};
template <class T>
using PageVector = std::vector<T, PageAllocator<T>>;

}  // namespace mixstack::memory
