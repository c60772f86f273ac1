#include "dotnet/code/frames/x86_64/frame_registers.h"

#include "dotnet/code/frames/register_block.h"

namespace mixstack::dotnet::frames::x86_64 {

Result<void> apply_hijack_args(const Layouts& layouts, Address address, std::span<const std::byte> args,
                               Registers& registers) {
  const auto& l = layouts.hijack_args;
  if (!l.callee_saved_registers || l.callee_saved_registers.offset > args.size())
    return fail(ErrorCode::field_unavailable);
  auto r = copy_block(layouts.callee_saved_registers, 8, args.subspan(l.callee_saved_registers.offset), registers);
  if (!r) return r;
  if (l.rsp) {
    const auto rsp = base::load_at<std::uint64_t>(args, l.rsp.offset);
    if (!rsp) return fail(ErrorCode::truncated, l.rsp.offset);
    registers.set_sp(*rsp);
    return {};
  }
  if (l.size == 0) return fail(ErrorCode::field_unavailable);
  registers.set_sp(address + l.size);
  return {};
}

Result<void> apply_inlined_call_extra(const Layouts&, std::span<const std::byte>, Registers&) { return {}; }
Result<void> apply_transition_extra(const Layouts&, std::span<const std::byte>, Registers&) { return {}; }
Registers apply_func_eval(const Registers&, const Registers& stored) { return stored; }

Result<void> apply_tail_call(const Layouts&, Address, std::span<const std::byte>, Registers&) {
  return fail(ErrorCode::unsupported);
}

}  // namespace mixstack::dotnet::frames::x86_64
