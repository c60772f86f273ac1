// Work on many things of which each takes a system call or a few.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>

namespace mixstack::base {

/// Calls `work(i)` once for each i below `count`: some of them by a second thread where there are many, and by this
/// one alone where there are few or no thread can be had. In no order; returns when all is done. `work` must be
/// thread-safe and must not throw.
template <class Work>
void for_each_of_many(std::size_t count, const Work& work) {
  constexpr std::size_t kMany = 64, kPiece = 8;
  std::atomic<std::size_t> next{0};
  const auto share = [&] {
    for (std::size_t begin = next.fetch_add(kPiece); begin < count; begin = next.fetch_add(kPiece))
      for (std::size_t i = begin; i < std::min(begin + kPiece, count); i++) work(i);
  };
  // As a deferred one, which it is if there is no other thread, it finds nothing left to do.
  auto other = std::async(count < kMany ? std::launch::deferred : std::launch::async | std::launch::deferred, share);
  share();
  other.get();
}

}  // namespace mixstack::base
