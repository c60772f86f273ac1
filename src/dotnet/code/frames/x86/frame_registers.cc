#include "dotnet/code/frames/x86/frame_registers.h"

#include <initializer_list>

#include "dotnet/code/frames/register_block.h"

namespace mixstack::dotnet::frames::x86 {

Result<void> apply_hijack_args(const Layouts& layouts, Address address, std::span<const std::byte> args,
                               Registers& registers) {
  const auto& l = layouts.hijack_args;
  if (l.size == 0) return fail(ErrorCode::field_unavailable);
  auto r = copy_block(l.registers, 4, args, registers);
  if (!r) return r;
  registers.set_sp((address + l.size) & 0xffffffffu);
  return {};
}

Result<void> apply_inlined_call_extra(const Layouts&, std::span<const std::byte>, Registers&) { return {}; }

// The runtime also adds the bytes of arguments that the callee pops, which only the method's signature or its GC
// reference map tells: with GCInfo, later. Until then sp is that of the TransitionBlock's end.
Result<void> apply_transition_extra(const Layouts&, std::span<const std::byte>, Registers&) { return {}; }

// Unlike elsewhere only the integer registers are copied (FuncEvalFrame::UpdateRegDisplay, src/coreclr/vm/i386).
Registers apply_func_eval(const Registers& before, const Registers& stored) {
  Registers r = before;
  for (const unsigned reg : {x86_reg::edi, x86_reg::esi, x86_reg::ebx, x86_reg::edx, x86_reg::ecx, x86_reg::eax,
                             x86_reg::ebp, x86_reg::eip, x86_reg::esp})
    if (auto v = stored.get(reg)) r.set(reg, *v);
  return r;
}

Result<void> apply_tail_call(const Layouts& layouts, Address address, std::span<const std::byte> frame,
                             Registers& registers) {
  const auto& l = layouts.tail_call_frame;
  if (!l.callee_saved_registers || !l.return_address || l.size == 0) return fail(ErrorCode::field_unavailable);
  if (l.callee_saved_registers.offset > frame.size()) return fail(ErrorCode::truncated, frame.size());
  auto r = copy_block(layouts.callee_saved_registers, 4, frame.subspan(l.callee_saved_registers.offset), registers);
  if (!r) return r;
  const auto pc = base::load_at<std::uint32_t>(frame, l.return_address.offset);
  if (!pc) return fail(ErrorCode::truncated, l.return_address.offset);
  registers.set_pc(*pc);
  registers.set_sp((address + l.size) & 0xffffffffu);
  return {};
}

}  // namespace mixstack::dotnet::frames::x86
