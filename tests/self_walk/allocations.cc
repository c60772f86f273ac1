#include "allocations.h"

#include <atomic>
#include <cstddef>

extern "C" {
void* __libc_malloc(std::size_t size);                           // NOLINT: the names are glibc's
void* __libc_calloc(std::size_t count, std::size_t size);        // NOLINT
void* __libc_realloc(void* memory, std::size_t size);            // NOLINT
void* __libc_memalign(std::size_t alignment, std::size_t size);  // NOLINT
}

namespace self_walk_test {
namespace {

thread_local volatile bool t_in_walk = false;
std::atomic<std::uint64_t> g_in_walks = 0, g_all = 0;

void note() {
  g_all.fetch_add(1, std::memory_order_relaxed);
  if (t_in_walk) g_in_walks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void set_in_walk(bool in_walk) { t_in_walk = in_walk; }
std::uint64_t allocations_in_walks() { return g_in_walks; }
std::uint64_t allocations() { return g_all; }

}  // namespace self_walk_test

// In front of glibc's; operator new ends up here, too.
extern "C" {
void* malloc(std::size_t size) {
  self_walk_test::note();
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  self_walk_test::note();
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) {
  self_walk_test::note();
  return __libc_realloc(memory, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  self_walk_test::note();
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  self_walk_test::note();
  return __libc_memalign(alignment, size);
}
}
