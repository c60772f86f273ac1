#include "engine/unwind/prologue/frame_state.h"

#include <bit>
#include <limits>

#include "engine/unwind/rule_builder.h"

namespace mixstack::unwind::prologue {
namespace {

bool is_preserved(const arch::Cpu& cpu, unsigned reg) {
  return reg < 64 && (cpu.preserved.coreclr_unix >> reg & 1) != 0;
}

}  // namespace

FrameState::FrameState(const arch::Cpu& cpu)
    : cpu_(&cpu),
      sp_number_(static_cast<std::uint8_t>(cpu.registers.sp)),
      fp_number_(static_cast<std::uint8_t>(cpu.registers.fp)),
      sp_(cpu.has_link_register() ? 0 : -std::int64_t{cpu.registers.pointer_size}) {}

bool FrameState::is_complete_as(const FrameState& other) const {
  const std::int64_t depth = sp_ ? -*sp_ : -1;
  const std::int64_t other_depth = other.sp_ ? -*other.sp_ : -1;
  if (depth != other_depth) return depth > other_depth;
  return std::popcount(saved_) + (fp_ ? 1 : 0) >= std::popcount(other.saved_) + (other.fp_ ? 1 : 0);
}

std::optional<std::int64_t> FrameState::address(unsigned reg, std::int64_t offset) const {
  std::optional<std::int64_t> base;
  if (reg == sp_number_) base = sp_;
  if (reg == fp_number_) base = fp_;
  if (reg == scratch_register_) base = scratch_;
  // Beyond any stack: hostile code could otherwise count up to an overflow.
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (!base || *base < -kLimit || *base > kLimit || offset < -kLimit || offset > kLimit) return std::nullopt;
  return *base + offset;
}

void FrameState::set(unsigned reg, std::optional<std::int64_t> address) {
  if (reg == sp_number_) {
    sp_ = address;
  } else if (reg == fp_number_) {
    fp_ = address;
  } else if (address) {
    scratch_register_ = static_cast<std::uint8_t>(reg);
    scratch_ = *address;
  } else if (reg == scratch_register_) {
    scratch_register_ = kNoRegister;
  }
  if (reg == constant_register_) constant_register_ = kNoRegister;
}

void FrameState::save_one(unsigned reg, std::int64_t at) {
  const bool fits = at < 0 && at >= std::numeric_limits<std::int32_t>::min();
  if (reg >= kSlots || !is_preserved(*cpu_, reg) || (saved_ >> reg & 1) != 0 || !fits) return;
  if (reg == fp_number_ && fp_) return;  // the frame's own address, not the caller's frame pointer
  saved_ |= arch::bit(reg);
  places_[reg] = static_cast<std::int32_t>(at);
}

void FrameState::restore_one(unsigned reg, std::int64_t at) {
  if (reg < kSlots && (saved_ >> reg & 1) != 0 && places_[reg] == at) {
    saved_ &= ~arch::bit(reg);
    if (reg == fp_number_) fp_.reset();
  } else {
    set(reg, std::nullopt);
  }
}

void FrameState::save(const Instruction& i) {
  if (i.sp_before != 0) sp_ = address(sp_number_, i.sp_before);
  const auto at = address(i.base, i.offset);
  for (unsigned n = 0; n < 2; n++) {
    if (at && i.regs[n] != kNoRegister) save_one(i.regs[n], *at + 8 * n);
  }
  if (i.sp_after != 0) sp_ = address(sp_number_, i.sp_after);
}

void FrameState::restore(const Instruction& i) {
  if (i.sp_before != 0) sp_ = address(sp_number_, i.sp_before);
  const auto at = address(i.base, i.offset);
  for (unsigned n = 0; n < 2; n++) {
    const unsigned reg = i.regs[n];
    if (reg == kNoRegister) continue;
    if (at) {
      restore_one(reg, *at + 8 * n);
    } else {
      set(reg, std::nullopt);
    }
  }
  if (i.sp_after != 0) sp_ = address(sp_number_, i.sp_after);
}

void FrameState::move_sp_by_register(const Instruction& i) {
  const bool known = constant_register_ == i.regs[0];
  sp_ = known ? address(sp_number_, i.offset * constant_) : std::nullopt;
}

void FrameState::set_constant(const Instruction& i) {
  std::int64_t value = i.offset;
  if (i.effect == Effect::insert_constant) {
    if (constant_register_ != i.regs[0]) return;
    const std::uint64_t kept = static_cast<std::uint64_t>(constant_) & ~(std::uint64_t{0xffff} << i.shift);
    value = static_cast<std::int64_t>(kept | static_cast<std::uint64_t>(i.offset) << i.shift);
  }
  set(i.regs[0], std::nullopt);
  constexpr std::int64_t kLimit = std::int64_t{1} << 31;
  if (value < -kLimit || value > kLimit) return;
  constant_register_ = i.regs[0];
  constant_ = value;
}

void FrameState::call() {
  // The stack probe of CoreCLR and of Windows keeps the register that holds the new sp; others are lost, but then
  // nothing of the frame hangs on them.
  if (constant_register_ != kNoRegister && !is_preserved(*cpu_, constant_register_)) constant_register_ = kNoRegister;
}

void FrameState::execute(const Instruction& i) {
  switch (i.effect) {
    case Effect::save:
      save(i);
      return;
    case Effect::restore:
      restore(i);
      return;
    case Effect::set_address:
      set(i.regs[0], address(i.base, i.offset));
      return;
    case Effect::set_constant:
    case Effect::insert_constant:
      set_constant(i);
      return;
    case Effect::move_sp_by_register:
      move_sp_by_register(i);
      return;
    case Effect::lose_register:
      set(i.regs[0], std::nullopt);
      return;
    case Effect::leave:
      sp_ = fp_ ? address(fp_number_, 8) : std::nullopt;
      if (fp_) restore_one(fp_number_, *fp_);
      return;
    case Effect::call:
      call();
      return;
    case Effect::sign_lr:
      ra_signed_ = true;
      return;
    case Effect::unsign_lr:
      ra_signed_ = false;
      return;
    case Effect::none:
    case Effect::jump:
    case Effect::branch:
    case Effect::end:
    case Effect::trap:
      return;
  }
}

Result<UnwindRule> FrameState::rule() const {
  if (!sp_ && !fp_) return fail(ErrorCode::no_unwind_info);
  // A frame record at fp marks a frame pointer. Otherwise fp may be a plain pointer into the frame that moves on.
  const bool by_fp = has_record() || !sp_;
  // The CFA as "register + distance"; every save is then at a known distance from the same register.
  const Place cfa{by_fp ? fp_number_ : sp_number_, by_fp ? -*fp_ : -*sp_};
  RuleBuilder builder(sp_number_);
  for (unsigned reg = 0; reg < kSlots; reg++) {
    if ((saved_ >> reg & 1) != 0) builder.saved(reg, cfa + places_[reg]);
  }
  if (!cpu_->has_link_register()) builder.saved(cpu_->ra_column, cfa + -std::int64_t{cpu_->registers.pointer_size});
  auto rule = builder.finish(cfa, cpu_->ra_column, StepperId::prologue, Trust::prologue);
  if (rule) rule->ra_is_signed = ra_signed_;
  return rule;
}

}  // namespace mixstack::unwind::prologue
