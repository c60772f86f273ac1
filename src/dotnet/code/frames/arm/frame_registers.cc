#include "dotnet/code/frames/arm/frame_registers.h"

#include "dotnet/code/frames/register_block.h"

namespace mixstack::dotnet::frames::arm {

Result<void> apply_hijack_args(const Layouts& layouts, Address address, std::span<const std::byte> args,
                               Registers& registers) {
  const auto& l = layouts.hijack_args;
  if (l.size == 0) return fail(ErrorCode::field_unavailable);
  auto r = copy_block(l.registers, 4, args, registers);
  if (!r) return r;
  registers.set_sp((address + l.size + l.size % 8) & 0xffffffffu);
  return {};
}

// r9 holds the sp after the prologue: with stackalloc the sp at the call site may have moved.
Result<void> apply_inlined_call_extra(const Layouts& layouts, std::span<const std::byte> frame, Registers& registers) {
  const Field field = layouts.inlined_call_frame.sp_after_prolog;
  if (!field) return fail(ErrorCode::field_unavailable);
  const auto sp = base::load_at<std::uint32_t>(frame, field.offset);
  if (!sp) return fail(ErrorCode::truncated, field.offset);
  registers.set(arm_reg::r9, *sp);
  return {};
}

Result<void> apply_transition_extra(const Layouts& layouts, std::span<const std::byte> block, Registers& registers) {
  const Field field = layouts.transition_block.argument_registers;
  if (!field || field.offset > block.size()) return fail(ErrorCode::field_unavailable);
  return copy_block(layouts.argument_registers, 4, block.subspan(field.offset), registers);
}

Registers apply_func_eval(const Registers&, const Registers& stored) { return stored; }

Result<void> apply_tail_call(const Layouts&, Address, std::span<const std::byte>, Registers&) {
  return fail(ErrorCode::unsupported);
}

}  // namespace mixstack::dotnet::frames::arm
