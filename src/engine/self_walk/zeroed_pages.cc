#include "engine/self_walk/zeroed_pages.h"

#include <sys/mman.h>

namespace mixstack::self_walk {

ZeroedPages::ZeroedPages(std::size_t size, Presence presence) : size_(size) {
  const int populate = presence == Presence::at_once ? MAP_POPULATE : 0;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | populate, -1, 0);
  if (memory != MAP_FAILED) memory_ = memory;
}

ZeroedPages::~ZeroedPages() {
  if (memory_ != nullptr) munmap(memory_, size_);
}

}  // namespace mixstack::self_walk
