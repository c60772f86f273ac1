#include "walk_core/witness.h"

#include <algorithm>

namespace mixstack::walk {

Verdict Witness::arrive(Address sp) {
  Verdict verdict = Verdict::no_witness;
  for (; next_ < checkpoints_.size(); next_++) {
    const Checkpoint& c = checkpoints_[next_];
    if (!c.resumes) {
      if (c.address >= sp) break;
      continue;
    }
    if (c.context.sp() < sp) return Verdict::missed;
    if (c.context.sp() > sp) break;
    verdict = Verdict::agrees;
    agreed_ = next_;
  }
  return verdict;
}

void Witness::leave(Address sp) {
  while (next_ < checkpoints_.size() && checkpoints_[next_].address < sp) next_++;
}

const Checkpoint* Witness::way_out(Address sp) const {
  for (std::size_t i = next_; i < checkpoints_.size(); i++)
    if (checkpoints_[i].resumes && checkpoints_[i].context.sp() > sp) return &checkpoints_[i];
  return nullptr;
}

const Checkpoint* Witness::interruption(Address pc, AddressRange where) const {
  for (std::size_t i = next_; i < checkpoints_.size() && where.contains(checkpoints_[i].address); i++)
    if (checkpoints_[i].interrupted && checkpoints_[i].context.pc() == pc) return &checkpoints_[i];
  return nullptr;
}

void Witness::resume_at(const Checkpoint& checkpoint) {
  next_ = std::max(next_, static_cast<std::size_t>(&checkpoint - checkpoints_.data()) + 1);
}

}  // namespace mixstack::walk
