#include "engine/unwind/prologue/prologue.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/unwind/prologue/decoder.h"
#include "engine/unwind/prologue/frame_state.h"

namespace mixstack::unwind {
namespace {

using prologue::Decoder;
using prologue::Effect;
using prologue::FrameState;
using prologue::Instruction;
using prologue::kDecoders;

/// States at the targets of forward branches. If it is full, the branch with the farthest target is dropped.
class PendingBranches {
 public:
  void add(std::size_t target, const FrameState& state) {
    std::size_t farthest = 0;
    for (std::size_t i = 0; i < count_; i++) {
      if (entries_[i].target == target) return;  // the first branch there decides
      if (entries_[i].target > entries_[farthest].target) farthest = i;
    }
    if (count_ < kMax) {
      entries_[count_++] = {target, state};
    } else if (entries_[farthest].target > target) {
      entries_[farthest] = {target, state};
    }
  }
  /// Takes out the state for `at`, and drops all before it.
  [[nodiscard]] std::optional<FrameState> take(std::size_t at) {
    std::optional<FrameState> found;
    for (std::size_t i = 0; i < count_;) {
      if (entries_[i].target > at) {
        i++;
        continue;
      }
      if (entries_[i].target == at) found = entries_[i].state;
      entries_[i] = entries_[--count_];
    }
    return found;
  }

 private:
  static constexpr std::size_t kMax = 48;
  struct Entry {
    std::size_t target = 0;
    FrameState state{arch::cpu(Arch::unknown)};
  };
  std::array<Entry, kMax> entries_;
  std::size_t count_ = 0;
};

/// One pass over the code.
class Sweep {
 public:
  Sweep(const arch::Cpu& cpu, Decoder decode, std::span<const std::byte> code)
      : decode_(decode), code_(code), state_(FrameState(cpu)), deepest_(cpu) {}

  /// The state before the instruction at `offset`, or before the one that ends there for a return address.
  [[nodiscard]] Result<UnwindRule> run(std::size_t offset, bool is_return_address) {
    for (std::size_t at = 0; at < code_.size();) {
      enter(at);
      if (at == offset && !is_return_address) return state_->rule();
      const Instruction i = decode_(code_.subspan(at));
      if (i.length == 0 || (at < offset && at + i.length > offset)) return fail(ErrorCode::malformed, at);
      if (is_return_address && at + i.length == offset) return state_->rule();
      at = go_on(i, at);
    }
    if (!is_return_address) enter(offset);
    return is_return_address || !state_ ? Result<UnwindRule>(fail(ErrorCode::malformed, offset)) : state_->rule();
  }

  template <class Take>
  void each(Take take) {
    for (std::size_t at = 0; at < code_.size();) {
      enter(at);
      take(at, state_->rule());
      const Instruction i = decode_(code_.subspan(at));
      if (i.length == 0) return;
      at = go_on(i, at);
    }
  }

 private:
  void enter(std::size_t at) {
    // A branch's state outweighs the one from above, which may stand behind a call that never returns.
    if (const auto branched = pending_.take(at)) state_ = branched;
    if (!state_) state_ = body_ ? *body_ : deepest_;
    if (state_->is_complete_as(deepest_)) deepest_ = *state_;
  }

  /// Whether the function's first jump skips data that cannot be decoded, like the signature that -fsanitize=function
  /// puts there.
  [[nodiscard]] bool leads_over_data(const Instruction& first) const {
    return first.effect == Effect::jump && first.target && *first.target >= first.length &&
           static_cast<std::size_t>(*first.target) <= code_.size();
  }

  /// Returns the position of the next instruction.
  [[nodiscard]] std::size_t go_on(const Instruction& i, std::size_t at) {
    if (at == 0 && leads_over_data(i)) return static_cast<std::size_t>(*i.target);
    follow(i, at);
    return at + i.length;
  }

  void follow(const Instruction& i, std::size_t at) {
    const bool leads_elsewhere = i.effect == Effect::branch || i.effect == Effect::jump;
    if (leads_elsewhere && i.target && *i.target > 0) pending_.add(at + static_cast<std::size_t>(*i.target), *state_);
    if (leads_elsewhere && (!body_ || state_->is_complete_as(*body_))) body_ = *state_;
    if (i.effect == Effect::end || i.effect == Effect::trap || i.effect == Effect::jump) {
      state_.reset();
    } else {
      state_->execute(i);
    }
  }

  Decoder decode_;
  std::span<const std::byte> code_;
  PendingBranches pending_;
  std::optional<FrameState> state_;  ///< nothing behind a return or jump
  /// The most complete frame at any jump, and at any instruction: where arguments are pushed for a call, a frame is
  /// deeper for a while than the code that is jumped to expects.
  std::optional<FrameState> body_;
  FrameState deepest_;
};

}  // namespace

Result<UnwindRule> prologue_rule(Arch arch, std::span<const std::byte> code, std::size_t offset,
                                 bool is_return_address) {
  if (kDecoders[arch] == nullptr) return fail(ErrorCode::unsupported_cpu);
  if (offset > code.size() || (is_return_address && offset == 0)) return fail(ErrorCode::invalid_argument, offset);
  if (offset > kMaxPrologueCode) return fail(ErrorCode::limit_exceeded, offset);
  return Sweep(arch::cpu(arch), kDecoders[arch], code.first(offset)).run(offset, is_return_address);
}

void each_prologue_rule(Arch arch, std::span<const std::byte> code,
                        const std::function<void(std::size_t, const Result<UnwindRule>&)>& take) {
  if (kDecoders[arch] == nullptr) return;
  Sweep(arch::cpu(arch), kDecoders[arch], code.first(std::min(code.size(), kMaxPrologueCode))).each(take);
}

}  // namespace mixstack::unwind
