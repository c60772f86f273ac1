// A frame's layout at one instruction, during prologue analysis.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/arch/cpu.h"
#include "engine/unwind/prologue/instruction.h"
#include "engine/unwind/rule.h"
#include "mixstack/result.h"

namespace mixstack::unwind::prologue {

/// All places are distances from the CFA. A value, copied at every branch.
class FrameState {
 public:
  /// At the first instruction of a function.
  explicit FrameState(const arch::Cpu& cpu);

  void execute(const Instruction& i);
  /// The rule for the caller; `no_unwind_info` when neither sp nor fp is tied to the CFA.
  [[nodiscard]] Result<UnwindRule> rule() const;
  /// Whether this frame is at least as complete as `other`: as deep, with as many registers saved. A half-undone
  /// epilogue is not.
  [[nodiscard]] bool is_complete_as(const FrameState& other) const;
  /// Bytes between sp and the CFA, while that is known.
  [[nodiscard]] std::optional<std::int64_t> depth() const { return sp_ ? std::optional(-*sp_) : std::nullopt; }
  /// The frame pointer points to the caller's, saved.
  [[nodiscard]] bool has_record() const {
    return fp_ && (saved_ >> fp_number_ & 1) != 0 && places_[fp_number_] == *fp_;
  }
  /// Whether a register holds the future sp, as before the call of a stack probe.
  [[nodiscard]] bool is_about_to_grow() const { return scratch_register_ != kNoRegister && sp_ && scratch_ < *sp_; }

 private:
  static constexpr unsigned kSlots = Registers::kMax;

  [[nodiscard]] std::optional<std::int64_t> address(unsigned reg, std::int64_t offset) const;
  void save(const Instruction& i);
  void restore(const Instruction& i);
  void set(unsigned reg, std::optional<std::int64_t> address);
  void save_one(unsigned reg, std::int64_t at);
  void restore_one(unsigned reg, std::int64_t at);
  void move_sp_by_register(const Instruction& i);
  void set_constant(const Instruction& i);
  void call();

  const arch::Cpu* cpu_;
  std::uint8_t sp_number_, fp_number_;
  bool ra_signed_ = false;
  std::uint8_t constant_register_ = kNoRegister;
  std::int64_t constant_ = 0;
  std::optional<std::int64_t> sp_;
  std::optional<std::int64_t> fp_;               ///< only while it is a frame pointer
  std::uint8_t scratch_register_ = kNoRegister;  ///< one other register that points into the stack
  std::int64_t scratch_ = 0;
  std::uint64_t saved_ = 0;
  std::array<std::int32_t, kSlots> places_{};
};

}  // namespace mixstack::unwind::prologue
