#include "engine/unwind/windows/arm64/prologue.h"

#include "mixstack/registers.h"

namespace mixstack::unwind::windows::arm64 {
namespace {

using namespace aarch64_reg;

/// Offsets in the kernel's trap frame and in CONTEXT, dotnet/runtime src/coreclr/unwinder/arm64/unwinder.cpp
/// (ARM64_KTRAP_FRAME) and src/coreclr/pal/inc/pal.h.
constexpr std::int64_t kTrapSp = 0x98, kTrapX0 = 0xa0, kTrapLr = 0x138, kTrapFp = 0x140, kTrapPc = 0x148;
constexpr std::int64_t kContextX0 = 8, kContextSp = 0x100, kContextPc = 0x108;

class Executor {
 public:
  Executor(std::span<const std::byte> codes, std::size_t index, RuleBuilder& builder)
      : codes_(codes), at_(index), builder_(builder) {}

  void skip(std::uint32_t instructions) {
    for (; instructions > 0 && at_ < codes_.size(); instructions--) {
      const unsigned first = peek(0);
      if (is_end(first)) return;
      at_ += code_length(first);
    }
  }

  [[nodiscard]] Result<Outcome> run() {
    while (at_ < codes_.size()) {
      const unsigned first = peek(0);
      const unsigned length = code_length(first);
      if (length > codes_.size() - at_) return fail(ErrorCode::truncated, at_);
      if (first == 0xe4) break;
      // Behind a stored sp nothing is known of the stack; the formats put nothing there.
      const bool known_sp = outcome_.undone != Undone::sp_in_memory || first == 0xe3 || first == 0xe5;
      if (!known_sp || !execute(first)) return fail(ErrorCode::malformed, at_);
      at_ += length;
    }
    if (next_pairs_ != 0) return fail(ErrorCode::malformed, at_);
    return outcome_;
  }

 private:
  [[nodiscard]] unsigned peek(std::size_t i) const { return std::to_integer<unsigned>(codes_[at_ + i]); }
  [[nodiscard]] std::int64_t number(unsigned bytes) const {
    std::int64_t n = 0;
    for (unsigned i = 1; i <= bytes; i++) n = n << 8 | peek(i);
    return n;
  }

  [[nodiscard]] bool execute(unsigned first) {
    const bool pair = (first >= 0x20 && first <= 0x3f) || (first >= 0xc8 && first <= 0xcf) ||
                      (first >= 0xd8 && first <= 0xdb) || first == 0xe6 || first == 0xe7;
    if (next_pairs_ != 0 && !pair && first != 0xe5) return false;
    if (first <= 0x1f) return move(16 * std::int64_t{first});                       // alloc_s
    if (first <= 0x3f) return save(x19, pairs(), -8 * std::int64_t{first & 0x1f});  // save_r19r20_x
    if (first <= 0x7f) return save(fp, 2, 8 * std::int64_t{first & 0x3f});          // save_fplr
    if (first <= 0xbf) return save(fp, 2, -8 * (std::int64_t{first & 0x3f} + 1));   // save_fplr_x
    if (first <= 0xc7) return move(16 * (std::int64_t{first & 7} << 8 | peek(1)));  // alloc_m
    if (first <= 0xdf) return execute_save(first);
    return execute_other(first);
  }

  /// Codes 0xc8 to 0xdf: 16 bits, a fixed part, a register, a slot.
  [[nodiscard]] bool execute_save(unsigned first) {
    const unsigned code = first << 8 | peek(1);
    const unsigned reg = x19 + (code >> 6 & 15);
    const std::int64_t z = code & 0x3f;
    if (first <= 0xcb) return save(reg, pairs(), 8 * z);                                                // save_regp
    if (first <= 0xcf) return save(reg, pairs(), -8 * (z + 1));                                         // save_regp_x
    if (first <= 0xd3) return save(reg, 1, 8 * z);                                                      // save_reg
    if (first <= 0xd5) return save(x19 + (code >> 5 & 15), 1, -8 * ((code & 0x1f) + std::int64_t{1}));  // save_reg_x
    if (first <= 0xd7) return save(x19 + 2 * (code >> 6 & 7), 1, 8 * z) && save(lr, 1, 8 * z + 8);      // save_lrpair
    if (first <= 0xd9) return pairs() != 0;                                                             // save_fregp
    if (first <= 0xdb) return pairs() != 0 && move(8 * (z + 1));                                        // save_fregp_x
    if (first <= 0xdd) return true;                                                                     // save_freg
    if (first == 0xde) return move(8 * ((code & 0x1f) + std::int64_t{1}));                              // save_freg_x
    return false;
  }

  [[nodiscard]] bool execute_other(unsigned first) {
    switch (first) {
      case 0xe0:
        return move(16 * number(3));  // alloc_l
      case 0xe1:
        return builder_.set_sp(fp, 0);  // set_fp
      case 0xe2:
        return builder_.set_sp(fp, -8 * number(1));  // add_fp
      case 0xe3:
        return true;  // nop
      case 0xe5:
        return true;  // end_c: the parent's codes follow
      case 0xe6:
        next_pairs_++;
        return true;  // save_next
      case 0xe7:
        return save_any();
      case 0xe8:
        return trap_frame();
      case 0xe9:
        return machine_frame();
      case 0xea:
        return context();
      case 0xec:
        return clear_unwound_to_call();
      case 0xfc:
        outcome_.lr_is_signed = true;
        return true;  // pac_sign_lr
      default:
        return first >= 0xf8;  // reserved codes are no operation
    }
  }

  bool move(std::int64_t n) {
    builder_.move_sp(n);
    return true;
  }
  /// Registers of a pair code, with those of the save_next codes before it.
  unsigned pairs() {
    const unsigned n = 2 + 2 * next_pairs_;
    next_pairs_ = 0;
    return n;
  }
  /// `count` registers from `reg` on at sp + `offset`; a negative offset is the space to release behind them instead.
  bool save(unsigned reg, unsigned count, std::int64_t offset) {
    if (reg + count > sp) return false;
    for (unsigned i = 0; i < count; i++) {
      builder_.saved(reg + i, builder_.sp() + (offset >= 0 ? offset : 0) + 8 * std::int64_t{i});
    }
    if (offset < 0) builder_.move_sp(-offset);
    return true;
  }

  /// save_any_reg: 0pxrrrrr ffoooooo behind the code.
  bool save_any() {
    const auto bits = static_cast<unsigned>(number(2));
    if ((bits >> 15) != 0) return false;
    const bool pair = (bits >> 14 & 1) != 0;
    const bool writeback = (bits >> 13 & 1) != 0;
    const unsigned reg = bits >> 8 & 31;
    const unsigned file = bits >> 6 & 3;
    if (file == 3 || (!pair && next_pairs_ != 0)) return false;
    const std::int64_t scale = writeback || pair || file == 2 ? 16 : 8;
    const std::int64_t offset = scale * ((bits & 0x3f) + (writeback ? 1 : 0));
    const unsigned count = pair ? pairs() : 1;
    if (file == 0) return save(reg, count, writeback ? -offset : offset);
    if (reg + count > 32) return false;
    return !writeback || move(offset);
  }

  bool trap_frame() {
    const Place base = builder_.sp();
    for (unsigned i = 0; i < 19; i++) builder_.saved(i, base + kTrapX0 + 8 * std::int64_t{i});
    builder_.saved(lr, base + kTrapLr);
    builder_.saved(fp, base + kTrapFp);
    return stored_sp(base + kTrapSp, base + kTrapPc);
  }
  bool machine_frame() {
    outcome_.lr_is_kept = !builder_.is_saved(lr);
    return stored_sp(builder_.sp(), builder_.sp() + 8);
  }
  bool context() {
    const Place base = builder_.sp();
    for (unsigned i = 0; i < sp; i++) builder_.saved(i, base + kContextX0 + 8 * std::int64_t{i});
    return stored_sp(base + kContextSp, base + kContextPc);
  }
  bool stored_sp(Place sp_slot, Place pc_slot) {
    builder_.saved(pc, pc_slot);
    outcome_.undone = Undone::sp_in_memory;
    outcome_.sp_slot = sp_slot;
    return true;
  }
  bool clear_unwound_to_call() {
    outcome_.undone = Undone::interrupted;
    return true;
  }

  std::span<const std::byte> codes_;
  std::size_t at_;
  RuleBuilder& builder_;
  unsigned next_pairs_ = 0;
  Outcome outcome_;
};

}  // namespace

Result<Outcome> undo_codes(std::span<const std::byte> codes, std::size_t index, std::uint32_t skip,
                           RuleBuilder& builder) {
  Executor executor(codes, index, builder);
  executor.skip(skip);
  return executor.run();
}

}  // namespace mixstack::unwind::windows::arm64
