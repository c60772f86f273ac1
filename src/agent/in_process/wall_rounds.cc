#include "agent/in_process/wall_rounds.h"

#include <algorithm>
#include <unordered_set>

namespace mixstack::agent {

void WallRounds::update(std::span<const std::uint32_t> tids) {
  std::unordered_set<std::uint32_t> present(tids.begin(), tids.end());
  std::size_t kept = 0, done = 0;
  for (std::size_t i = 0; i < round_.size(); i++) {
    if (present.erase(round_[i]) == 0) continue;
    if (i < done_) done++;
    round_[kept++] = round_[i];
  }
  round_.resize(kept);
  done_ = done;
  round_.insert(round_.end(), present.begin(), present.end());
  std::shuffle(round_.begin() + static_cast<std::ptrdiff_t>(done_), round_.end(), random_);
}

std::span<const std::uint32_t> WallRounds::next(std::size_t most) {
  if (done_ == round_.size()) {
    std::shuffle(round_.begin(), round_.end(), random_);
    done_ = 0;
  }
  const std::span<const std::uint32_t> some(round_.data() + done_, std::min(most, round_.size() - done_));
  done_ += some.size();
  return some;
}

}  // namespace mixstack::agent
