// A native library that keeps what it allocates.
#include <cstddef>
#include <cstdlib>
#include <cstring>

extern "C" __attribute__((noinline)) void* grow_block(std::size_t bytes) {
  void* block = std::malloc(bytes);
  if (block != nullptr) std::memset(block, 1, bytes);
  asm volatile("" : "+r"(block)::"memory");
  return block;
}
