#include "dotnet/code/frames/aarch64/frame_registers.h"

#include "dotnet/code/frames/register_block.h"

namespace mixstack::dotnet::frames::aarch64 {

Result<void> apply_hijack_args(const Layouts& layouts, Address address, std::span<const std::byte> args,
                               Registers& registers) {
  const auto& l = layouts.hijack_args;
  if (l.size == 0) return fail(ErrorCode::field_unavailable);
  auto r = copy_block(l.registers, 8, args, registers);
  if (!r) return r;
  registers.set_sp(address + l.size + l.size % 16);
  return {};
}

Result<void> apply_inlined_call_extra(const Layouts&, std::span<const std::byte>, Registers&) { return {}; }
Result<void> apply_transition_extra(const Layouts&, std::span<const std::byte>, Registers&) { return {}; }
Registers apply_func_eval(const Registers&, const Registers& stored) { return stored; }

Result<void> apply_tail_call(const Layouts&, Address, std::span<const std::byte>, Registers&) {
  return fail(ErrorCode::unsupported);
}

}  // namespace mixstack::dotnet::frames::aarch64
