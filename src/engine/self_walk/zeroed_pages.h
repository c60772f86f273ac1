// Memory from the kernel, without malloc.
#pragma once

#include <cstddef>

namespace mixstack::self_walk {

/// Zeros. Pages are allocated when first touched, possibly in a signal handler, or all at once.
class ZeroedPages {
 public:
  enum class Presence : bool { lazy, at_once };
  ZeroedPages(std::size_t size, Presence presence);
  ~ZeroedPages();
  ZeroedPages(const ZeroedPages&) = delete;
  ZeroedPages& operator=(const ZeroedPages&) = delete;
  [[nodiscard]] void* get() const { return memory_; }  ///< null: allocation failed

 private:
  void* memory_ = nullptr;
  std::size_t size_;
};

}  // namespace mixstack::self_walk
