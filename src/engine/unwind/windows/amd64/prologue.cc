#include "engine/unwind/windows/amd64/prologue.h"

#include "mixstack/registers.h"

namespace mixstack::unwind::windows::amd64 {
namespace {

/// Base of SAVE_NONVOL offsets ("establisher frame"): the frame register once it is set, else rsp. Taken from the first
/// record of a chain for all of it, as CoreCLR does.
Place frame_base(const UnwindInfo& info, std::uint32_t prologue_offset) {
  const Place rsp{x86_64_reg::rsp, 0};
  if (info.frame_register() == 0) return rsp;
  const Place frame{static_cast<std::uint8_t>(dwarf_register(info.frame_register())), -info.frame_offset()};
  if (prologue_offset >= info.prologue_size() || info.is_chained()) return frame;
  for (unsigned i = 0; i < info.code_count(); i += UnwindInfo::slots(info.code(i))) {
    const Code code = info.code(i);
    if (code.op == Op::set_fpreg || code.op == Op::set_fpreg_large) {
      return prologue_offset >= code.offset ? frame : rsp;
    }
  }
  return rsp;
}

/// Executes one record's codes.
class Executor {
 public:
  Executor(const UnwindInfo& info, Place frame_base, RuleBuilder& builder)
      : info_(info), frame_base_(frame_base), builder_(builder) {}

  [[nodiscard]] Result<Undone> run(std::uint32_t prologue_offset) {
    for (unsigned i = 0; i < info_.code_count(); i += UnwindInfo::slots(info_.code(i))) {
      const Code code = info_.code(i);
      if (prologue_offset < code.offset && code.op != Op::epilog) continue;
      // Behind a machine frame the stack pointer is a value from memory: nothing can follow.
      if (done_ == Undone::machine_frame || !execute(code, i)) return fail(ErrorCode::malformed, i);
    }
    return done_;
  }

 private:
  [[nodiscard]] bool execute(const Code& code, unsigned i) {
    switch (code.op) {
      case Op::push_nonvol:
        if (!save(code.info, builder_.sp())) return false;
        builder_.move_sp(8);
        return true;
      case Op::alloc_large:
        return allocate(code, i);
      case Op::alloc_small:
        builder_.move_sp(code.info * 8 + 8);
        return true;
      case Op::set_fpreg:
        return set_frame(info_.frame_offset());
      case Op::set_fpreg_large: {
        const auto n = info_.operand32(i);
        return n && set_frame(std::int64_t{*n} * 16);
      }
      case Op::save_nonvol: {
        const auto n = info_.operand16(i);
        return n && save(code.info, frame_base_ + std::int64_t{*n} * 8);
      }
      case Op::save_nonvol_far: {
        const auto n = info_.operand32(i);
        return n && save(code.info, frame_base_ + *n);
      }
      case Op::epilog:
      case Op::spare:
      case Op::save_xmm128:
      case Op::save_xmm128_far:
        return true;  // vector registers are not tracked
      case Op::push_machframe:
        machine_frame(code.info != 0);
        return true;
    }
    return false;
  }

  [[nodiscard]] bool save(unsigned machine_number, Place where) {
    const unsigned reg = dwarf_register(machine_number);
    if (reg == x86_64_reg::rsp) return false;
    builder_.saved(reg, where);
    return true;
  }

  [[nodiscard]] bool allocate(const Code& code, unsigned i) {
    const auto n = code.info != 0 ? info_.operand32(i) : info_.operand16(i);
    if (!n) return false;
    builder_.move_sp(code.info != 0 ? std::int64_t{*n} : std::int64_t{*n} * 8);
    return true;
  }

  [[nodiscard]] bool set_frame(std::int64_t offset) {
    return info_.frame_register() != 0 && builder_.set_sp(dwarf_register(info_.frame_register()), -offset);
  }

  void machine_frame(bool has_error_code) {
    if (has_error_code) builder_.move_sp(8);
    builder_.saved(x86_64_reg::rip, builder_.sp());
    done_ = Undone::machine_frame;
  }

  const UnwindInfo& info_;
  Place frame_base_;
  RuleBuilder& builder_;
  Undone done_ = Undone::at_return_address;
};

}  // namespace

Result<Undone> undo_prologue(const UnwindInfo& info, const RuntimeFunction& function, std::uint32_t pc,
                             const UnwindDataSource& data, RuleBuilder& builder) {
  const Place base = frame_base(info, pc - function.begin);
  UnwindInfoBuffer buffer;
  UnwindInfo current = info;
  std::uint32_t begin = function.begin;
  for (unsigned n = 0; n <= kChainLimit; n++) {
    // Unsigned on purpose: a pc below a chained parent is behind all of the parent's prologue.
    const auto done = Executor(current, base, builder).run(pc - begin);
    if (!done || !current.is_chained()) return done;
    if (*done == Undone::machine_frame) return fail(ErrorCode::malformed);
    const RuntimeFunction parent = current.chained();
    const auto next = buffer.load(data, parent.unwind_data);
    if (!next) return fail(next.error());
    current = *next;
    begin = parent.begin;
  }
  return fail(ErrorCode::limit_exceeded, kChainLimit);
}

std::optional<std::uint32_t> epilogue_offset(const UnwindInfo& info, std::uint32_t function_end, std::uint32_t pc) {
  if (info.code_count() == 0) return std::nullopt;
  const Code first = info.code(0);
  if (first.op != Op::epilog) return std::nullopt;
  const std::uint32_t size = first.offset;
  if ((first.info & 1) != 0 && pc - (function_end - size) < size) return pc - (function_end - size);
  // The others hold their distance from the function's end; 0 is padding.
  for (unsigned i = 1; i < info.code_count(); i++) {
    const Code code = info.code(i);
    if (code.op != Op::epilog) break;
    const std::uint32_t distance = code.offset + std::uint32_t{code.info} * 256;
    if (distance == 0) break;
    const std::uint32_t begin = function_end - distance;
    if (pc - begin < size) return pc - begin;
  }
  return std::nullopt;
}

namespace {

struct PushCodes {
  UnwindInfo info;
  unsigned first = 0;
};

/// The record of the chain that holds the pushes; they all lie in one.
Result<PushCodes> find_pushes(const UnwindInfo& info, const UnwindDataSource& data, UnwindInfoBuffer& buffer) {
  UnwindInfo current = info;
  for (unsigned n = 0; n <= kChainLimit; n++) {
    unsigned i = 0;
    for (; i < current.code_count(); i += UnwindInfo::slots(current.code(i))) {
      const Op op = current.code(i).op;
      if (op == Op::push_nonvol || op == Op::push_machframe) return PushCodes{current, i};
    }
    if (!current.is_chained()) return PushCodes{current, current.code_count()};
    const auto next = buffer.load(data, current.chained().unwind_data);
    if (!next) return fail(next.error());
    current = *next;
  }
  return fail(ErrorCode::limit_exceeded, kChainLimit);
}

}  // namespace

Result<Undone> undo_epilogue(const UnwindInfo& info, std::uint32_t offset, const UnwindDataSource& data,
                             RuleBuilder& builder) {
  UnwindInfoBuffer buffer;
  const auto pushes = find_pushes(info, data, buffer);
  if (!pushes) return fail(pushes.error());
  std::uint32_t position = 0;  // in the epilogue, of the pop that mirrors the code
  unsigned i = pushes->first;
  for (; i < pushes->info.code_count(); i++) {
    const Code code = pushes->info.code(i);
    if (code.op != Op::push_nonvol) break;
    if (position >= offset) {
      const unsigned reg = dwarf_register(code.info);
      if (reg == x86_64_reg::rsp) return fail(ErrorCode::malformed, i);
      builder.saved(reg, builder.sp());
      builder.move_sp(8);
    }
    position += code.info >= 8 ? 2 : 1;
  }
  if (i < pushes->info.code_count() && pushes->info.code(i).op == Op::alloc_small && pushes->info.code(i).info == 0) {
    if (position >= offset) builder.move_sp(8);  // a pushed flags word, dropped by a one-byte pop
    i++;
  }
  if (i >= pushes->info.code_count()) return Undone::at_return_address;
  if (pushes->info.code(i).op != Op::push_machframe) return fail(ErrorCode::malformed, i);
  builder.saved(x86_64_reg::rip, builder.sp());
  return Undone::machine_frame;
}

}  // namespace mixstack::unwind::windows::amd64
