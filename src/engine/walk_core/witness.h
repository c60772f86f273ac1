// The second witness of native-to-managed transitions: the runtime's checkpoints, followed in step with the walk.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "engine/walk_core/stepper.h"

namespace mixstack::walk {

/// The checkpoints' statement on an arrival at a managed frame.
enum class Verdict : unsigned char {
  no_witness,  ///< no checkpoint concerns this frame
  agrees,      ///< a checkpoint names exactly this sp
  missed,      ///< the walk passed a checkpoint without meeting it
};

/// The part of a checkpoint that a walk for addresses needs.
struct Mark {
  Address address = 0;   ///< address of the record on the stack
  Address sp = 0;        ///< of the managed context it restores
  bool resumes = false;  ///< an active record that restores one
};

[[nodiscard]] inline Address resumed_sp(const Checkpoint& c) { return c.context.sp(); }
[[nodiscard]] inline Address resumed_sp(const Mark& m) { return m.sp; }

/// Follows a thread's checkpoints upwards. Only those that restore a managed context are witnesses; the caller decides
/// which when it makes the list.
template <class Point>
class BasicWitness {
 public:
  explicit BasicWitness(std::span<const Point> points) : points_(points) {}

  /// Compares an arrival at a managed frame with stack pointer `sp`. `agrees` consumes the checkpoint.
  [[nodiscard]] Verdict arrive(Address sp);
  /// The walk left a managed frame for a caller with stack pointer `sp`: records inside that frame were its own. (An
  /// InlinedCallFrame's sp lies above the physical one in methods that use stackalloc.)
  void leave(Address sp);
  /// After `agrees`: the checkpoint that did.
  [[nodiscard]] const Point& agreed() const { return points_[agreed_]; }
  /// After `missed`: the checkpoint that was passed.
  [[nodiscard]] const Point& next() const { return points_[next_]; }
  /// The next checkpoint from which a walk stuck at `sp` may resume, or null. Does not consume it.
  [[nodiscard]] const Point* way_out(Address sp) const;
  /// The next checkpoint inside `where` that keeps the context of code interrupted at `pc`, or null.
  [[nodiscard]] const Point* interruption(Address pc, AddressRange where) const;
  /// Consumes everything up to and including `point`, which is one of this thread's.
  void resume_at(const Point& point);

 private:
  std::span<const Point> points_;
  std::size_t next_ = 0;
  std::size_t agreed_ = 0;
};

using Witness = BasicWitness<Checkpoint>;

template <class Point>
Verdict BasicWitness<Point>::arrive(Address sp) {
  Verdict verdict = Verdict::no_witness;
  for (; next_ < points_.size(); next_++) {
    const Point& p = points_[next_];
    if (!p.resumes) {
      if (p.address >= sp) break;
      continue;
    }
    if (resumed_sp(p) < sp) return Verdict::missed;
    if (resumed_sp(p) > sp) break;
    verdict = Verdict::agrees;
    agreed_ = next_;
  }
  return verdict;
}

template <class Point>
void BasicWitness<Point>::leave(Address sp) {
  while (next_ < points_.size() && points_[next_].address < sp) next_++;
}

template <class Point>
const Point* BasicWitness<Point>::way_out(Address sp) const {
  for (std::size_t i = next_; i < points_.size(); i++)
    if (points_[i].resumes && resumed_sp(points_[i]) > sp) return &points_[i];
  return nullptr;
}

template <class Point>
const Point* BasicWitness<Point>::interruption(Address pc, AddressRange where) const {
  for (std::size_t i = next_; i < points_.size() && where.contains(points_[i].address); i++)
    if (points_[i].interrupted && points_[i].context.pc() == pc) return &points_[i];
  return nullptr;
}

template <class Point>
void BasicWitness<Point>::resume_at(const Point& point) {
  next_ = std::max(next_, static_cast<std::size_t>(&point - points_.data()) + 1);
}

}  // namespace mixstack::walk
