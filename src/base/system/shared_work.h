// Work on many items that take a few system calls each.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <future>

namespace mixstack::base {

/// Calls `work(i)` once for each i below `count`, in no order; returns when all are done. A second thread helps if
/// there are many; this one does all if there are few or no thread can be started. `work` must be thread-safe and must
/// not throw.
template <class Work>
void for_each_of_many(std::size_t count, const Work& work) {
  constexpr std::size_t kMany = 64, kPiece = 8;
  std::atomic<std::size_t> next{0};
  const auto share = [&] {
    for (std::size_t begin = next.fetch_add(kPiece); begin < count; begin = next.fetch_add(kPiece))
      for (std::size_t i = begin; i < std::min(begin + kPiece, count); i++) work(i);
  };
  // If deferred (there is no other thread), it runs here and finds nothing left to do.
  auto other = std::async(count < kMany ? std::launch::deferred : std::launch::async | std::launch::deferred, share);
  share();
  other.get();
}

}  // namespace mixstack::base
