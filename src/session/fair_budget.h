// A limit on what all threads of a dump take together, of which the first may not take everything.
#pragma once

#include <algorithm>
#include <cstddef>

namespace mixstack::session {

/// For things that are made for one sharer after the other. Each may take what is left but for `fewest` of everyone who
/// comes later; `fewest` are everyone's in any case, so all together take at most `all` or `fewest` times their number.
class FairBudget {
 public:
  FairBudget(std::size_t all, std::size_t sharers, std::size_t fewest)
      : left_(all), sharers_(sharers), fewest_(fewest) {}

  /// The most that the next sharer may take.
  [[nodiscard]] std::size_t next() const {
    const std::size_t others = sharers_ > 0 ? sharers_ - 1 : 0;
    const std::size_t free = left_ / std::max<std::size_t>(fewest_, 1) > others ? left_ - others * fewest_ : 0;
    return std::max(free, fewest_);
  }
  void took(std::size_t count) {
    left_ -= std::min(left_, count);
    if (sharers_ > 0) sharers_--;
  }

 private:
  std::size_t left_, sharers_, fewest_;
};

}  // namespace mixstack::session
