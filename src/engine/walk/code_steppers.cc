#include "engine/walk/code_steppers.h"

#include <array>
#include <vector>

#include "base/arch/call_site.h"
#include "engine/unwind/apply.h"
#include "engine/unwind/frame_pointer.h"
#include "engine/unwind/plt_stub.h"
#include "engine/unwind/prologue/prologue.h"
#include "engine/unwind/signal_trampoline.h"

namespace mixstack::walk {
namespace {

StepOutcome failed(StepperId stepper, Trust trust, const Error& error) {
  return {.status = StepStatus::failed, .error = error, .stepper = stepper, .trust = trust};
}

/// Executes a rule found by evidence; a call must end at the return address.
StepOutcome follow(const unwind::UnwindRule& rule, Cursor& cursor, const ThreadInput& thread, const MemoryReader& code,
                   std::uint64_t pac_mask) {
  auto caller = unwind::apply(rule, cursor.registers, cursor.frame.pc, thread.stack, pac_mask);
  if (!caller) return failed(rule.origin, rule.trust, caller.error());
  // A zero return address is weaker than with CFI: the chain may have been followed wrongly.
  if (caller->is_end_of_stack) return {.status = StepStatus::end_of_stack, .stepper = rule.origin, .trust = rule.trust};
  if (!follows_call(code, cursor.registers.arch(), caller->pc.raw()))
    return failed(rule.origin, rule.trust, {ErrorCode::bad_return_address, 0, caller->pc.raw()});
  return {.status = StepStatus::caller, .stepper = rule.origin, .trust = rule.trust};
}

bool is_native(const Frame& frame) { return frame.kind == FrameKind::native; }

}  // namespace

bool follows_call(const MemoryReader& code, Arch arch, Address return_address) {
  std::array<std::byte, arch::kMaxCallLength> before;
  return return_address >= before.size() && code.read_exact(return_address - before.size(), before) &&
         arch::call_before(arch, before, return_address).has_value();
}

std::optional<unwind::UnwindRule> PrologueStepper::stub_rule(const Cursor& cursor) const {
  std::array<std::byte, unwind::kPltStubBefore + unwind::kPltStubAfter> bytes{};
  const Address pc = cursor.frame.pc.raw();
  if (!cursor.frame.pc.is_exact() || pc < unwind::kPltStubBefore) return std::nullopt;
  // Code may begin and end with a page.
  const auto whole = std::span(bytes);
  (void)code_.read_some(pc - unwind::kPltStubBefore, whole.first(unwind::kPltStubBefore));
  if (!code_.read_some(pc, whole.subspan(unwind::kPltStubBefore))) return std::nullopt;
  return unwind::match_plt_stub(cursor.registers.arch(), bytes, unwind::kPltStubBefore);
}

StepOutcome PrologueStepper::step(Cursor& cursor, const ThreadInput& thread) {
  if (!is_native(cursor.frame)) return {};
  if (const auto stub = stub_rule(cursor)) return follow(*stub, cursor, thread, code_, pac_mask_);
  const auto start = function_start_(cursor.frame);
  const Address pc = cursor.frame.pc.raw();
  if (!start || pc < *start || pc - *start > unwind::kMaxPrologueCode) return {};
  std::vector<std::byte> bytes(pc - *start + 16);
  auto n = code_.read_some(*start, bytes);
  if (!n || *n < pc - *start) return {};
  bytes.resize(*n);
  auto rule = unwind::prologue_rule(cursor.registers.arch(), bytes, pc - *start, !cursor.frame.pc.is_exact());
  if (!rule) return failed(StepperId::prologue, Trust::prologue, rule.error());
  return follow(*rule, cursor, thread, code_, pac_mask_);
}

StepOutcome SignalTrampolineStepper::step(Cursor& cursor, const ThreadInput& thread) {
  if (cursor.frame.kind == FrameKind::managed) return {};
  std::array<std::byte, unwind::kSignalTrampolineBytes> bytes;
  if (!code_.read_exact(cursor.frame.pc.raw(), bytes)) return {};
  const auto rule = unwind::match_signal_trampoline(cursor.registers.arch(), bytes);
  if (!rule) return {};
  auto caller = unwind::apply(*rule, cursor.registers, cursor.frame.pc, thread.stack);
  if (!caller) return failed(StepperId::signal_frame, Trust::certain, caller.error());
  return {.status = StepStatus::caller, .stepper = StepperId::signal_frame, .caller_interrupted = true};
}

StepOutcome FramePointerStepper::step(Cursor& cursor, const ThreadInput& thread) {
  const bool is_foreign = cursor.frame.kind == FrameKind::undescribed;
  if (!is_native(cursor.frame) && !is_foreign) return {};
  auto found = unwind::frame_pointer_rule(cursor.registers, thread.stack);
  if (!found) return failed(StepperId::frame_pointer, Trust::frame_pointer, found.error());
  StepOutcome outcome = follow(found->rule, cursor, thread, code_, pac_mask_);
  if (outcome.status == StepStatus::caller && !found->sp_is_exact) {
    outcome.sp_at_least = cursor.registers.sp();
    cursor.registers.forget(arch_registers(cursor.registers.arch()).sp);
  }
  return outcome;
}

}  // namespace mixstack::walk
