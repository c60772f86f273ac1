// Input: machine code of a jitted method. Output: its frame (`method_frame`), and the rule at any pc
// (`rule_in_method`).
// Algorithm: (1) decode from the first instruction to the first jump, call or branch, and keep the most complete frame:
// CoreCLR emits prologues in one piece, so this happens once for each method; (2) at a pc in the prologue execute it up
// to there, since the frame is incomplete; (3) else try to execute the code at the pc as an epilogue, and accept it
// only if it restores every register from where the frame saved it; (4) else the frame's own rule holds.
// Bounds: `kMostMethodPrologue` and `kMostEpilogue` bytes, `kMostEpilogueInstructions`, frame sizes of 31 bits; no
// allocation.
#include "engine/unwind/prologue/method_frame.h"

#include <algorithm>
#include <limits>

#include "engine/unwind/prologue/decoder.h"
#include "engine/unwind/prologue/frame_state.h"
#include "engine/unwind/rule_builder.h"

namespace mixstack::unwind {
namespace {

using prologue::Decoder;
using prologue::Effect;
using prologue::FrameState;
using prologue::Instruction;
using prologue::kDecoders;
using prologue::kNoRegister;

constexpr unsigned kMostEpilogueInstructions = 24;

[[nodiscard]] bool ends(const Instruction& i) {
  return i.effect == Effect::jump || i.effect == Effect::end || i.effect == Effect::trap;
}

/// A branch back to executed code: loops that touch the pages of a large frame, or fill it with zeros.
[[nodiscard]] bool closes_loop(const Instruction& i, std::size_t at) {
  return i.effect == Effect::branch && i.target && *i.target <= 0 && static_cast<std::size_t>(-*i.target) <= at;
}

/// Stripping an address that is not signed does not change it.
[[nodiscard]] UnwindRule marked(UnwindRule rule, const arch::Cpu& cpu) {
  rule.trust = Trust::prologue;
  rule.origin = StepperId::prologue;
  rule.ra_is_signed = cpu.signs_return_addresses;
  return rule;
}

/// Code without a frame makes no calls: its return address would be lost, or the stack not aligned.
[[nodiscard]] bool can_call(const MethodFrame& frame, Arch arch) {
  const arch::Cpu& cpu = arch::cpu(arch);
  return frame.rule.slots[kCompactLayouts[arch].ra] != 0 &&
         (cpu.has_link_register() || frame.size > cpu.registers.pointer_size);
}

/// Executes the remainder of an epilogue, in terms of the registers at its start.
class Epilogue {
 public:
  Epilogue(Arch arch, const CompactRule& rule)
      : arch_(arch), cpu_(arch::cpu(arch)), rule_(rule), sp_{static_cast<std::uint8_t>(cpu_.registers.sp), 0} {}

  /// False: this is no epilogue of that frame.
  [[nodiscard]] bool run(Decoder decode, const MethodPlace& place) {
    if (cpu_.zero_address_bits != 0) look_back(decode, place.before);
    std::span<const std::byte> code = place.here;
    for (unsigned n = 0; n < kMostEpilogueInstructions && !code.empty(); n++) {
      const Instruction i = decode(code);
      if (i.length == 0) return false;
      const std::uint64_t at = place.offset + (place.here.size() - code.size());
      if (i.effect == Effect::end) return true;
      if (i.effect == Effect::jump) return i.target ? leaves(i, at, place.size) : n > 0 || has_begun_ || i.is_tail_call;
      if (!execute(i)) return false;
      code = code.subspan(i.length);
    }
    return false;
  }

  /// Nothing: a register is restored from another place than where the frame saved it.
  [[nodiscard]] std::optional<UnwindRule> rule() const {
    const bool is_pushed = !cpu_.has_link_register();
    const Place cfa = sp_ + (is_pushed ? std::int64_t{cpu_.registers.pointer_size} : 0);
    RuleBuilder builder(cpu_.registers.sp);
    for (unsigned reg = 0; reg < Registers::kMax; reg++) {
      if ((restored_ >> reg & 1) == 0) continue;
      const int slot = kCompactLayouts[arch_].slot_of[reg];
      const Place where{bases_[reg], offsets_[reg]};
      if (slot < 0 || !(where == cfa + -std::int64_t{rule_.slots[static_cast<std::size_t>(slot)]})) return std::nullopt;
      builder.saved(reg, where);
    }
    if (is_pushed) builder.saved(cpu_.ra_column, sp_);
    auto rule = builder.finish(cfa, cpu_.ra_column, StepperId::prologue, Trust::prologue);
    return rule ? std::optional(marked(*rule, cpu_)) : std::nullopt;
  }

 private:
  [[nodiscard]] static bool leaves(const Instruction& i, std::uint64_t at, std::uint64_t size) {
    return at + static_cast<std::uint64_t>(*i.target) >= size;
  }
  [[nodiscard]] std::optional<Place> place(unsigned base, std::int64_t offset) const {
    constexpr std::int64_t kFar = std::int64_t{1} << 31;
    if (offset < -kFar || offset > kFar) return std::nullopt;
    if (base == cpu_.registers.sp) return sp_ + offset;
    const bool is_own_fp = base == cpu_.registers.fp && (restored_ >> base & 1) == 0;
    return is_own_fp ? std::optional(Place{static_cast<std::uint8_t>(base), offset}) : std::nullopt;
  }
  [[nodiscard]] bool restore(unsigned reg, Place where) {
    if (reg >= Registers::kMax || (restored_ >> reg & 1) != 0) return false;
    restored_ |= std::uint64_t{1} << reg;
    bases_[reg] = where.base;
    offsets_[reg] = where.offset;
    return true;
  }
  /// Looks back for a constant that sp will be moved by, and whether the instruction before has undone some of the
  /// frame.
  void look_back(Decoder decode, std::span<const std::byte> before) {
    while (!before.empty()) {
      const Instruction i = decode(before);
      if (i.length == 0 || i.length > before.size()) return;
      if (i.effect == Effect::set_constant || i.effect == Effect::insert_constant) (void)set_constant(i);
      const bool adds = i.effect == Effect::set_address && i.regs[0] == cpu_.registers.sp &&
                        (i.offset > 0 || i.base != cpu_.registers.sp);
      const bool moves_sp = adds || i.sp_after > 0 || i.effect == Effect::move_sp_by_register;
      has_begun_ = moves_sp || i.effect == Effect::unsign_lr;
      before = before.subspan(i.length);
    }
  }
  [[nodiscard]] bool execute(const Instruction& i) {
    switch (i.effect) {
      case Effect::restore: {
        sp_ = sp_ + i.sp_before;
        const auto where = place(i.base, i.offset);
        // Epilogues restore other registers (d8 and the like) relative to sp only.
        const bool is_load = i.regs[0] == kNoRegister && i.regs[1] == kNoRegister && i.base != cpu_.registers.sp;
        if (!where || is_load) return false;
        for (unsigned n = 0; n < 2; n++)
          if (i.regs[n] != kNoRegister && !restore(i.regs[n], *where + 8 * n)) return false;
        sp_ = sp_ + i.sp_after;
        return true;
      }
      case Effect::set_address: {
        const auto to = place(i.base, i.offset);
        if (i.regs[0] != cpu_.registers.sp || !to) return false;
        sp_ = *to;
        return true;
      }
      case Effect::leave: {
        const auto record = place(cpu_.registers.fp, 0);
        if (!record || !restore(cpu_.registers.fp, *record)) return false;
        sp_ = *record + 8;
        return true;
      }
      case Effect::set_constant:
      case Effect::insert_constant:
        return set_constant(i);
      case Effect::move_sp_by_register:
        if (i.regs[0] != constant_register_) return false;
        sp_ = sp_ + i.offset * constant_;
        return true;
      case Effect::unsign_lr:
        return true;
      default:
        return false;
    }
  }
  /// Tracks a constant for a frame size that does not fit an instruction.
  [[nodiscard]] bool set_constant(const Instruction& i) {
    if (i.effect == Effect::insert_constant && (constant_register_ != i.regs[0] || i.shift > 16)) return false;
    constexpr std::int64_t kBits = 0xffff;
    if (i.effect == Effect::set_constant) constant_ = i.offset;
    if (i.effect == Effect::insert_constant) constant_ = (constant_ & ~(kBits << i.shift)) | i.offset << i.shift;
    constant_register_ = i.regs[0];
    return constant_ >= 0 && constant_ <= std::numeric_limits<std::int32_t>::max();
  }

  Arch arch_;
  const arch::Cpu& cpu_;
  const CompactRule& rule_;
  Place sp_;
  std::uint8_t constant_register_ = kNoRegister;
  std::int64_t constant_ = 0;
  bool has_begun_ = false;
  std::uint64_t restored_ = 0;
  // Valid where bit `reg` of restored_ is set.
  std::array<std::uint8_t, Registers::kMax> bases_;
  std::array<std::int64_t, Registers::kMax> offsets_;
};

[[nodiscard]] Result<UnwindRule> rule_in_prologue(Arch arch, Decoder decode, const MethodPlace& place) {
  FrameState state(arch::cpu(arch));
  std::size_t at = 0;
  while (at < place.offset) {
    if (at >= place.start.size()) return fail(ErrorCode::truncated, at);
    const Instruction i = decode(place.start.subspan(at));
    if (i.length == 0 || at + i.length > place.offset) return fail(ErrorCode::malformed, at);
    at += i.length;
    if (place.is_return_address && at == place.offset) break;  // the state in which the call was made
    state.execute(i);
  }
  auto rule = state.rule();
  return rule ? Result<UnwindRule>(marked(*rule, arch::cpu(arch))) : rule;
}

}  // namespace

Result<MethodFrame> method_frame(Arch arch, std::span<const std::byte> code) {
  const Decoder decode = kDecoders[arch];
  if (decode == nullptr) return fail(ErrorCode::unsupported_cpu);
  if (code.empty()) return fail(ErrorCode::malformed);
  code = code.first(std::min(code.size(), kMostMethodPrologue));
  FrameState state(arch::cpu(arch)), best = state;
  std::size_t end = 0;
  for (std::size_t at = 0; at < code.size();) {
    const Instruction i = decode(code.subspan(at));
    if (i.length == 0 && at == 0) return fail(ErrorCode::malformed);
    const bool is_other_call = i.effect == Effect::call && !state.is_about_to_grow();
    const bool is_other_branch = i.effect == Effect::branch && !closes_loop(i, at);
    if (i.length == 0 || ends(i) || is_other_branch || is_other_call) break;
    state.execute(i);
    at += i.length;
    if (best.is_complete_as(state)) continue;
    best = state;
    end = at;
  }
  auto rule = best.rule();
  if (!rule) return fail(rule.error());
  rule->trust = Trust::certain;  // the compact form only holds certain rules
  const auto small = compact(*rule, arch);
  const std::int64_t depth = best.depth().value_or(0);
  if (!small || depth < 0 || depth > std::numeric_limits<std::int32_t>::max()) return fail(ErrorCode::no_unwind_info);
  return MethodFrame{*small, static_cast<std::uint32_t>(depth), static_cast<std::uint16_t>(end)};
}

Result<UnwindRule> rule_in_method(Arch arch, const MethodFrame& frame, const MethodPlace& place) {
  const Decoder decode = kDecoders[arch];
  if (decode == nullptr) return fail(ErrorCode::unsupported_cpu);
  if (place.offset < frame.prologue) return rule_in_prologue(arch, decode, place);
  if (frame.rule.kind != CompactKind::register_offset) return fail(ErrorCode::no_unwind_info);
  if (!place.is_return_address) {
    Epilogue epilogue(arch, frame.rule);
    if (epilogue.run(decode, place))
      if (auto rest = epilogue.rule()) return *rest;
  } else if (!can_call(frame, arch)) {
    return fail(ErrorCode::no_unwind_info);
  }
  return marked(expand(frame.rule, arch), arch::cpu(arch));
}

std::optional<std::size_t> next_prologue(Arch arch, std::span<const std::byte> code, std::size_t from) {
  const Decoder decode = kDecoders[arch];
  if (decode == nullptr) return std::nullopt;
  const arch::Cpu& cpu = arch::cpu(arch);
  const auto saves_fp = [&](const Instruction& i) {
    return i.effect == Effect::save && i.base == cpu.registers.sp &&
           (i.regs[0] == cpu.registers.fp || i.regs[1] == cpu.registers.fp);
  };
  bool may_begin = false;  // behind code that does not continue: a return, a jump, a call that throws
  for (std::size_t at = from; at < code.size();) {
    const Instruction i = decode(code.subspan(at));
    if (i.length == 0) return std::nullopt;
    if (may_begin && saves_fp(i) && i.sp_before < 0) return at;
    const bool makes_room =
        i.effect == Effect::set_address && i.regs[0] == cpu.registers.sp && i.base == cpu.registers.sp && i.offset < 0;
    if (may_begin && makes_room && saves_fp(decode(code.subspan(at + i.length)))) return at;
    may_begin = ends(i) || i.effect == Effect::call;
    at += i.length;
  }
  return std::nullopt;
}

bool is_same_frame(Arch arch, const MethodFrame& decoded, const CompactRule& known) {
  const CompactRule& rule = decoded.rule;
  if (rule.kind != known.kind || rule.slots != known.slots) return false;
  if (rule.cfa_register == known.cfa_register) return rule.cfa_offset == known.cfa_offset;
  return known.cfa_register == arch::cpu(arch).registers.sp &&
         known.cfa_offset == static_cast<std::int64_t>(decoded.size);
}

}  // namespace mixstack::unwind
