// Input: an explicit Frame of the runtime, and the registers of the code that made it.
// Output: the registers where the walk resumes (FrameUpdate). Unchanged: the Frame holds no context.
// Algorithm: the type of the Frame selects one of eight mechanisms. Four read a stored CONTEXT (software exception,
// function evaluation, resumable, faulting); the others take saved registers from the Frame or from a block it points
// to, and the CPU-specific half (frames/<cpu>) adds the rest. Registers that the mechanism does not define stay
// unknown, so that no stale value reaches an unwind rule.
// Bounds: structures are at most kMaxStructure bytes, a CONTEXT has the size of its CPU; no loops over target data.
// Source: "Capital 'F' Frame Handling" in docs/design/datacontracts/StackWalk.md.
#include "dotnet/code/frames/frame_update.h"

#include <array>

#include "base/arch/context.h"
#include "dotnet/code/frames/frame_registers.h"
#include "dotnet/code/frames/register_block.h"

namespace mixstack::dotnet {
namespace {

constexpr std::uint32_t kMaxStructure = 1024;

// Bytes of a small structure of the runtime.
class Structure {
 public:
  [[nodiscard]] static Result<Structure> read(const RuntimeMemory& memory, Address at, std::uint32_t size) {
    Structure s;
    if (size == 0) return fail(ErrorCode::field_unavailable, at);
    if (size > kMaxStructure) return fail(ErrorCode::limit_exceeded, size);
    s.size_ = size;
    if (auto r = memory.reader().read_exact(at, std::span(s.bytes_).first(size)); !r) return fail(r.error());
    return s;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return std::span(bytes_).first(size_); }

 private:
  std::array<std::byte, kMaxStructure> bytes_;
  std::size_t size_ = 0;
};

struct StoredContext {
  Registers registers;
  std::uint32_t flags = 0;
  std::shared_ptr<const std::vector<std::byte>> bytes;
};

Result<StoredContext> read_context(const RuntimeMemory& memory, Address at) {
  const Arch arch = memory.layouts().arch;
  const auto* layout = arch::context_layout(arch);
  if (layout == nullptr) return fail(ErrorCode::unsupported_cpu);
  auto bytes = std::make_shared<std::vector<std::byte>>(layout->size);
  if (auto r = memory.reader().read_exact(at, *bytes); !r) return fail(r.error());
  auto registers = arch::decode_context(arch, *bytes);
  if (!registers) return fail(registers.error());
  const std::uint32_t flags = arch::context_flags(arch, *bytes).value_or(0);
  return StoredContext{*registers, flags, std::move(bytes)};
}

Result<FrameUpdate> whole_context(const RuntimeMemory& memory, Address at) {
  auto stored = read_context(memory, at);
  if (!stored) return fail(stored.error());
  return FrameUpdate{true, true, true, stored->flags, stored->registers, std::move(stored->bytes)};
}

FrameUpdate changed(const Registers& registers) { return {true, false, false, 0, registers, nullptr}; }

Result<FrameUpdate> inlined_call(const RuntimeMemory& memory, Address at, const Registers& before) {
  const auto& l = memory.layouts().inlined_call_frame;
  auto pc = memory.pointer(at, l.caller_return_address);
  if (!pc) return fail(pc.error());
  if (*pc == 0) return FrameUpdate{false, false, false, 0, before, nullptr};
  auto sp = memory.pointer(at, l.call_site_sp);
  auto fp = memory.pointer(at, l.callee_saved_fp);
  if (!sp) return fail(sp.error());
  if (!fp) return fail(fp.error());
  Registers r(before.arch());
  r.set_pc(*pc);
  r.set_sp(*sp);
  r.set_fp(*fp);
  auto frame = Structure::read(memory, at, l.size);
  if (frame) {
    auto extra = frames::frame_registers(before.arch())->apply_inlined_call_extra(memory.layouts(), frame->bytes(), r);
    if (!extra) return fail(extra.error());
  } else if (frames::frame_registers(before.arch())->needs_whole_inlined_call) {
    return fail(frame.error());
  }
  return changed(r);
}

Result<FrameUpdate> software_exception(const RuntimeMemory& memory, Address at, const Registers& before) {
  const Field context = memory.layouts().software_exception_frame.target_context;
  if (!context) return fail(ErrorCode::field_unavailable, at);
  auto stored = read_context(memory, at + context.offset);
  if (!stored) return fail(stored.error());
  const std::uint64_t saved = frames::block_mask(memory.layouts().callee_saved_registers);
  if (saved == 0) return fail(ErrorCode::field_unavailable, at);
  const auto numbers = arch_registers(before.arch());
  Registers r = stored->registers;
  r.keep(saved | std::uint64_t{1} << numbers.pc | std::uint64_t{1} << numbers.sp);
  return changed(r);
}

Result<FrameUpdate> transition(const RuntimeMemory& memory, Address at, const Registers& before) {
  const auto& l = memory.layouts();
  const auto& t = l.transition_block;
  auto block_at = memory.pointer(at, l.framed_method_frame.transition_block);
  if (!block_at) return fail(block_at.error());
  auto block = Structure::read(memory, *block_at, t.size);
  if (!block) return fail(block.error());
  auto pc = memory.pointer(*block_at, t.return_address);
  if (!pc) return fail(pc.error());
  if (!t.callee_saved_registers || t.callee_saved_registers.offset > t.size)
    return fail(ErrorCode::field_unavailable, at);
  Registers r(before.arch());
  auto saved = frames::copy_block(l.callee_saved_registers, l.pointer_size,
                                  block->bytes().subspan(t.callee_saved_registers.offset), r);
  if (!saved) return fail(saved.error());
  r.set_pc(*pc);
  r.set_sp(*block_at + t.size);
  auto extra = frames::frame_registers(before.arch())->apply_transition_extra(l, block->bytes(), r);
  if (!extra) return fail(extra.error());
  return changed(r);
}

/// Only a thread that was hijacked for the evaluation has a context from before it.
Result<bool> eval_uses_hijack(const RuntimeMemory& memory, Address eval) {
  const auto& l = memory.layouts().debugger_eval;
  const bool says_so = l.eval_uses_hijack.present();
  const auto flag = memory.value<std::uint8_t>(eval, says_so ? l.eval_uses_hijack : l.eval_during_exception);
  if (!flag) return fail(flag.error());
  return says_so == (*flag != 0);
}

Result<FrameUpdate> func_eval(const RuntimeMemory& memory, Address at, const Registers& before) {
  const auto& l = memory.layouts();
  auto eval = memory.pointer(at, l.func_eval_frame.debugger_eval);
  if (!eval) return fail(eval.error());
  const auto uses_hijack = eval_uses_hijack(memory, *eval);
  if (!uses_hijack) return fail(uses_hijack.error());
  if (!*uses_hijack) return FrameUpdate{false, false, false, 0, before, nullptr};
  if (!l.debugger_eval.target_context) return fail(ErrorCode::field_unavailable, at);
  auto update = whole_context(memory, *eval + l.debugger_eval.target_context.offset);
  if (!update) return update;
  update->registers = frames::frame_registers(before.arch())->apply_func_eval(before, update->registers);
  update->whole = frames::frame_registers(before.arch())->func_eval_replaces_all;
  if (!update->whole) update->context_flags = 0;
  if (!update->whole) update->stored.reset();
  return update;
}

Result<FrameUpdate> resumable(const RuntimeMemory& memory, Address at) {
  auto context = memory.pointer(at, memory.layouts().resumable_frame.target_context);
  if (!context) return fail(context.error());
  return whole_context(memory, *context);
}

Result<FrameUpdate> faulting(const RuntimeMemory& memory, Address at) {
  const Layouts& l = memory.layouts();
  const bool is_told = !l.is_windows || frames::frame_registers(l.arch)->has_common_faulting_frame_on_windows;
  if (!l.faulting_exception_frame.target_context || !is_told) return fail(ErrorCode::field_unavailable, at);
  auto update = whole_context(memory, at + l.faulting_exception_frame.target_context.offset);
  if (update) update->context_flags &= ~arch::context_layout(l.arch)->flag_xstate;
  return update;
}

Result<FrameUpdate> hijack(const RuntimeMemory& memory, Address at, const Registers& before) {
  const auto& l = memory.layouts();
  auto pc = memory.pointer(at, l.hijack_frame.return_address);
  auto args_at = memory.pointer(at, l.hijack_frame.hijack_args);
  if (!pc) return fail(pc.error());
  if (!args_at) return fail(args_at.error());
  auto args = Structure::read(memory, *args_at, l.hijack_args.size);
  if (!args) return fail(args.error());
  Registers r(before.arch());
  auto applied = frames::frame_registers(before.arch())->apply_hijack_args(l, *args_at, args->bytes(), r);
  if (!applied) return fail(applied.error());
  r.set_pc(*pc);
  return changed(r);
}

Result<FrameUpdate> tail_call(const RuntimeMemory& memory, Address at, const Registers& before) {
  auto frame = Structure::read(memory, at, memory.layouts().tail_call_frame.size);
  if (!frame) return fail(frame.error());
  Registers r(before.arch());
  auto applied = frames::frame_registers(before.arch())->apply_tail_call(memory.layouts(), at, frame->bytes(), r);
  if (!applied) return fail(applied.error());
  return changed(r);
}

/// The way in which a Frame stores the registers.
enum class Mechanism : std::uint8_t {
  none,
  inlined_call,
  software_exception,
  transition,
  func_eval,
  resumable,
  faulting,
  hijack,
  tail_call
};

Mechanism mechanism_of(FrameType type) {
  switch (type) {
    case FrameType::inlined_call:
      return Mechanism::inlined_call;
    case FrameType::software_exception:
      return Mechanism::software_exception;
    case FrameType::framed_method:
    case FrameType::clr_to_com:
    case FrameType::pinvoke_calli:
    case FrameType::prestub_method:
    case FrameType::stub_dispatch:
    case FrameType::call_counting_helper:
    case FrameType::external_method:
    case FrameType::dynamic_helper:
      return Mechanism::transition;
    case FrameType::func_eval:
      return Mechanism::func_eval;
    case FrameType::resumable:
    case FrameType::redirected_thread:
      return Mechanism::resumable;
    case FrameType::faulting_exception:
      return Mechanism::faulting;
    case FrameType::hijack:
      return Mechanism::hijack;
    case FrameType::tail_call:
      return Mechanism::tail_call;
    default:
      return Mechanism::none;
  }
}

}  // namespace

bool restores_context(FrameType type) { return mechanism_of(type) != Mechanism::none; }

Result<FrameUpdate> update_from_frame(const RuntimeMemory& memory, const FrameRecord& frame, const Registers& before) {
  if (before.arch() != memory.layouts().arch) return fail(ErrorCode::invalid_argument);
  if (frames::frame_registers(before.arch()) == nullptr) return fail(ErrorCode::unsupported_cpu);
  const Address at = frame.address;
  switch (mechanism_of(frame.type)) {
    case Mechanism::inlined_call:
      return inlined_call(memory, at, before);
    case Mechanism::software_exception:
      return software_exception(memory, at, before);
    case Mechanism::transition:
      return transition(memory, at, before);
    case Mechanism::func_eval:
      return func_eval(memory, at, before);
    case Mechanism::resumable:
      return resumable(memory, at);
    case Mechanism::faulting:
      return faulting(memory, at);
    case Mechanism::hijack:
      return hijack(memory, at, before);
    case Mechanism::tail_call:
      return tail_call(memory, at, before);
    case Mechanism::none:
      break;
  }
  return FrameUpdate{false, false, false, 0, before, nullptr};
}

Result<Address> frame_return_address(const RuntimeMemory& memory, const FrameRecord& frame) {
  const Registers none(memory.layouts().arch);
  if (frame.type == FrameType::software_exception)
    return memory.pointer(frame.address, memory.layouts().software_exception_frame.return_address);
  auto update = update_from_frame(memory, frame, none);
  if (!update) return fail(update.error());
  return update->changed ? update->registers.pc() : 0;
}

Result<bool> has_active_call(const RuntimeMemory& memory, const FrameRecord& frame) {
  if (frame.type != FrameType::inlined_call) return false;
  auto pc = memory.pointer(frame.address, memory.layouts().inlined_call_frame.caller_return_address);
  if (!pc) return fail(pc.error());
  return *pc != 0;
}

}  // namespace mixstack::dotnet
