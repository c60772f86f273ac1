// The second witness of native-to-managed transitions: the runtime's checkpoints, followed in step with the walk.
#pragma once

#include <cstddef>
#include <span>

#include "walk_core/stepper.h"

namespace mixstack::walk {

/// What the checkpoints say of an arrival at a managed frame.
enum class Verdict : unsigned char {
  no_witness,  ///< no checkpoint speaks of this frame
  agrees,      ///< one names exactly this sp
  missed,      ///< the walk passed a checkpoint that still had to be met
};

/// Follows a thread's checkpoints upwards. Only those that restore a managed context are witnesses; the caller decides
/// which these are, when it makes the list.
class Witness {
 public:
  explicit Witness(std::span<const Checkpoint> checkpoints) : checkpoints_(checkpoints) {}

  /// Compares an arrival at a managed frame with stack pointer `sp`. `agrees` consumes the checkpoint.
  [[nodiscard]] Verdict arrive(Address sp);
  /// The walk left a managed frame for a caller with stack pointer `sp`: records inside that frame were its own. (An
  /// InlinedCallFrame's sp lies above the physical one in methods that use stackalloc.)
  void leave(Address sp);
  /// After `agrees`: the checkpoint that did.
  [[nodiscard]] const Checkpoint& agreed() const { return checkpoints_[agreed_]; }
  /// After `missed`: the checkpoint that was passed.
  [[nodiscard]] const Checkpoint& next() const { return checkpoints_[next_]; }
  /// The next checkpoint from which a walk that is stuck at `sp` may resume, or null. Does not consume it.
  [[nodiscard]] const Checkpoint* way_out(Address sp) const;
  /// The next checkpoint inside `where` that keeps the context of code interrupted at `pc`, or null.
  [[nodiscard]] const Checkpoint* interruption(Address pc, AddressRange where) const;
  /// Consumes everything up to and including `checkpoint`, which is one of this thread's.
  void resume_at(const Checkpoint& checkpoint);

 private:
  std::span<const Checkpoint> checkpoints_;
  std::size_t next_ = 0;
  std::size_t agreed_ = 0;
};

}  // namespace mixstack::walk
