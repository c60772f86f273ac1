// Input: registers (a signal's context, or ours), the shared `Tables` of rules, and known bounds of the stack. Output:
// addresses in the caller's span, and why the walk ended. Runs in signal handlers: no lock, no allocation.
// Algorithm, for each frame: (1) find the rule of the return address in the small table, since a hit costs a few loads;
// (2) if the rule is plain and the CFA within proved memory, load return address and frame pointer; (3) else prove one
// more page, or make a `slow_step`: the general rule, checked by walk/WalkCore; (4) without a rule try evidence, then
// the frame pointer, then the list of outer frames, in order of falling certainty; (5) if another register is needed,
// the caller starts again with `careful_steps`.
// Bounds: the span's size limits frames; `provable_end_` plain loads; `ProbedMemory` all other reads; `kMostTries`
// entries of the list; `WalkCore` checks that the stack advances.
#include "engine/self_walk/walk.h"

#include <algorithm>

#include "base/arch/call_site.h"
#include "base/arch/task_end.h"
#include "engine/unwind/apply.h"
#include "engine/unwind/frame_pointer.h"
#include "engine/walk_core/bare_code.h"

namespace mixstack::self_walk {
namespace {

using unwind::LightFrame;

constexpr Address kLastUserAddress = ~Address{0} >> 1;

[[nodiscard]] std::uint64_t load(Address address) {
  std::uint64_t value;
  std::memcpy(&value, reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)), sizeof(value));
  return value;
}

/// A saved register, or its present value if the slot is 0. Without a branch, since a branch on which registers a
/// function saves would be mispredicted often.
[[nodiscard]] std::uint64_t saved_or(std::uint32_t slot, Address cfa, std::uint64_t present) {
  const std::uint64_t all_if_saved = std::uint64_t{0} - static_cast<std::uint64_t>(slot != 0);
  return present ^ ((present ^ load(cfa - slot)) & all_if_saved);
}

}  // namespace

// The chain of dependent loads from step to step is short, as in unwind::RuleStepper: return address -> slot -> CFA ->
// return address. So the loop keeps its state in local variables, and rare cases share one branch.
template <Arch A, bool kOwned>
void Walk::steps_on(LightFrame frame) {
  const RuleSlots slots = tables_.slots();
  use_known_stack(frame.sp);
  if (!skips_first_ && !add(frame.pc.raw())) return;
  Address key = unwind::RuleCache::key_of(frame.pc), sp = frame.sp, fp = frame.fp, lr = frame.lr;
  Address *out = out_.data() + trace_.count, *const end = out_.data() + out_.size();
  Address words_end = words_end_;
  const auto leave = [&](StopReason reason) {
    trace_.count = static_cast<std::size_t>(out - out_.data());
    trace_.stop = reason;
  };
  for (;;) {
    PackedRule rule;
    if (!slots.find_first<A, kOwned>(key, rule)) [[unlikely]]
      rule = look_up(key);
    if constexpr (kOwned) owners_[out - out_.data() - 1] = rule.owner;
    Address cfa = sp + static_cast<Address>(std::int64_t{rule.cfa_offset});
    bool is_plain = true;
    constexpr std::uint32_t kUnusual = step_kind::kByFp | step_kind::kNotPlain | step_kind::kMayGo;
    if ((rule.what & kUnusual << 16) != 0) [[unlikely]] {
      if ((rule.kind() & step_kind::kMayGo) != 0 && !is_valid(rule.module())) rule = look_up_again(key, rule);
      const bool is_by_fp = (rule.kind() & step_kind::kByFp) != 0;
      cfa = (is_by_fp ? fp : sp) + static_cast<Address>(std::int64_t{rule.cfa_offset});
      is_plain = (rule.kind() & step_kind::kNotPlain) == 0 && (!is_by_fp || (cfa > sp && cfa - sp >= rule.depth));
    }
    Address ra = 0;
    if (is_plain && cfa < words_end) [[likely]] {
      if constexpr (!arch::cpu(A).has_link_register()) {
        ra = load(cfa - unwind::kCompactLayouts[A].pushed_ra);
      } else {
        ra = rule.ra_slot() != 0 ? load(cfa - rule.ra_slot()) : lr;
        if ((rule.kind() & step_kind::kSigned) != 0) ra &= ~sources_.pac_mask;
      }
    }
    if (out == end) [[unlikely]]
      return leave((rule.kind() & step_kind::kEnd) != 0 ? StopReason::end_of_stack : StopReason::max_frames);
    if (ra - 1 < kLastUserAddress) [[likely]] {
      fp = saved_or(rule.fp_slot(), cfa, fp);
      sp = cfa;
      lr = key = ra;
      *out++ = ra;
    } else {
      if ((rule.kind() & step_kind::kEnd) != 0) return leave(StopReason::end_of_stack);
      if (is_plain && ra == 0 && prove(cfa)) {
        words_end = words_end_;
        continue;
      }
      frame.pc = code_address(key);
      frame.sp = sp, frame.fp = fp, frame.lr = lr;
      trace_.count = static_cast<std::size_t>(out - out_.data());
      if (!slow_step<A>(frame)) {
        leave(trace_.stop);
        return take_back_nowhere();
      }
      key = unwind::RuleCache::key_of(frame.pc);
      sp = frame.sp, fp = frame.fp, lr = frame.lr;
      words_end = words_end_;
      *out++ = frame.pc.raw();
    }
  }
}

void Walk::steps(const LightFrame& frame) {
  arch::dispatch(host::arch(), [&]<Arch A>() {
    return owners_ != nullptr && !skips_first_ ? steps_on<A, true>(frame) : steps_on<A, false>(frame);
  });
}

template <Arch A>
bool Walk::slow_step(LightFrame& frame) {
  Registers registers = frame.registers(A);
  const bool goes_on = general_step(frame.pc, registers);
  // Without sp the light walk cannot continue; with all registers there may be a rule that does not need it.
  const bool has_sp = !goes_on || registers.is_known(arch_registers(A).sp);
  if (!goes_on || !has_sp) {
    needs_all_registers_ = !has_sp || trace_.stop == StopReason::register_unknown;
    return false;
  }
  frame.take(registers);
  return true;
}

bool Walk::prove(Address cfa) {
  constexpr Address kPage = 4096;
  const Address proved = low_ + size_;
  if (provable_end_ - low_ < sizeof(Address) || cfa < low_) return false;
  if (cfa > provable_end_ - sizeof(Address) || cfa + sizeof(Address) <= proved) return false;
  const Address page_end = (cfa + sizeof(Address) + kPage - 1) & ~(kPage - 1);
  const Address end = std::min(page_end, provable_end_);
  if (!memory_.is_readable(proved, end - proved)) return false;
  size_ = end - low_;
  words_end_ = end - sizeof(Address) + 1;
  return true;
}

void Walk::begin_again() {
  trace_.count = 0;
  trace_.stop = StopReason::end_of_stack;
  needs_all_registers_ = led_nowhere_ = left_own_ = false;
  doubtful_at_ = ~std::size_t{0};
  sp_at_least_ = outer_place_ = 0;
}

void Walk::careful_steps(Registers registers, CodeAddress pc) {
  is_careful_ = true;
  use_known_stack(registers.sp());
  if (!skips_first_ && !add(pc.raw())) return;
  while (general_step(pc, registers))
    if (!add(pc.raw())) return;
  take_back_nowhere();
}

/// A return address must be in user space; the next step checks whether code is there.
bool Walk::GeneralHost::claim(const Cursor& cursor) { return cursor.frame.pc.raw() <= kLastUserAddress; }

bool Walk::general_step(CodeAddress& pc, Registers& registers) {
  if (left_own_) return stop(StopReason::foreign_stack);
  trace_.probed_frames++;
  if (!general_) general_.emplace(general_host_, std::span<const Checkpoint>(), walk::CopiedStack());
  Cursor here{registers, Frame{.pc = pc, .sp = known_sp(registers)}}, next;
  here.frame.is_interrupted = pc.is_exact();
  general_->begin_at(here);
  general_->record(here);
  next.registers = registers;
  StepOutcome outcome = by_general_rule(pc, next.registers);
  walk::Heard heard = general_->hear(here, next, outcome);
  if (heard == walk::Heard::nothing && outer_ != nullptr) {
    next.registers = registers;
    outcome = by_outer_frame(next.registers, outcome.error);
    heard = general_->hear(here, next, outcome);
  }
  if (heard == walk::Heard::nothing && led_nowhere_) return stop(StopReason::bad_return_address);
  if (heard == walk::Heard::nothing) general_->stop_stuck(here);
  if (heard != walk::Heard::caller) return stop(general_->stop_reason());
  if (outcome.trust != Trust::certain) doubtful_at_ = std::min(doubtful_at_, trace_.count);
  pc = next.frame.pc;
  registers = next.registers;
  sp_at_least_ = outcome.sp_at_least;
  // Readability was proved for the previous stack only.
  const Address sp = known_sp(registers);
  if (sp - low_ >= size_ || pc.is_exact()) use_known_stack(sp);
  left_own_ = sources_.only_own && pc.is_exact() && !sources_.stack.empty() && !sources_.stack.contains(sp);
  return true;
}

StepOutcome Walk::by_general_rule(CodeAddress pc, Registers& registers) {
  if (is_replaced(pc)) {
    led_nowhere_ = true;
    return {.status = StepStatus::failed, .error = {ErrorCode::bad_return_address, 0, pc.raw()}};
  }
  const auto rule = general_rule(pc);
  if (!rule) {
    // A return address that leads nowhere was not one. (Only the kernel knows whether readable memory is code.)
    const bool is_nowhere = rule.error().code == ErrorCode::not_found && !memory_.is_readable(pc.lookup(), 1);
    led_nowhere_ = is_nowhere && !pc.is_exact();
    return is_nowhere ? StepOutcome{.status = StepStatus::failed, .error = rule.error()}
                      : without_rule(pc, registers, rule.error());
  }
  if (rule->trust != Trust::certain && is_outermost(pc))
    return {.status = StepStatus::end_of_stack, .trust = rule->trust};
  const auto caller = unwind::apply(*rule, registers, pc, view(), sources_.pac_mask);
  if (!caller) {
    // A step by a frame pointer may have left sp unknown.
    const bool may_follow = sources_.frame_pointers && sp_at_least_ != 0;
    if (caller.error().code == ErrorCode::register_unknown && may_follow)
      if (const auto outcome = by_frame_pointer(pc, registers)) return *outcome;
    return {.status = StepStatus::failed, .error = caller.error()};
  }
  if (caller->is_end_of_stack) return {.status = StepStatus::end_of_stack, .trust = rule->trust};
  if (rule->trust != Trust::certain && !follows_call(caller->pc.raw()))
    return {.status = StepStatus::failed, .error = {ErrorCode::bad_return_address, 0, caller->pc.raw()}};
  return {.status = StepStatus::caller, .trust = rule->trust, .caller_interrupted = caller->pc.is_exact()};
}

bool Walk::follows_call(Address return_address) {
  std::array<std::byte, arch::kMaxCallLength> before;
  return return_address > before.size() && memory_.read_exact(return_address - before.size(), before) &&
         arch::call_before(host::arch(), before, return_address).has_value();
}

/// Code without a caller: the program's first instructions, and the code that a thread's function returns to. Not every
/// C library has unwind information that says so.
bool Walk::is_outermost(CodeAddress pc) {
  if (pc.lookup() - tables_.entry_point() < arch::kEntryCodeBytes) return true;
  std::array<std::byte, arch::kTaskEndBytes> code;
  return !pc.is_exact() && memory_.read_exact(pc.raw(), code) && arch::ends_task(host::arch(), code);
}

/// A runtime that suspends a thread replaces its method's return address by a function of its own (OnHijackTripThread,
/// by Thread::HijackReturnAddress in src/coreclr/vm/threadsuspend.cpp): the start of a function, behind no call. Only
/// the runtime knows the true return address. Checked when a rule is made.
bool Walk::is_replaced(CodeAddress pc) {
  if (sources_.code == nullptr || pc.is_exact() || follows_call(pc.raw())) return false;
  const CodeAddress begin = CodeAddress::exact(pc.raw());
  const auto site = site_at(begin);
  if (!site || site->fde.pc_begin != pc.raw() || site->initial->cie.is_signal_frame) return false;
  return row_at(*site, begin).kind != unwind::CompactKind::end_of_stack;
}

bool Walk::is_described(CodeAddress pc) {
  return site_at(pc).has_value() || tables_.bare().covers(pc.lookup()) ||
         (sources_.code != nullptr && sources_.code->knows(pc, memory_));
}

StepOutcome Walk::without_rule(CodeAddress pc, Registers& registers, const Error& why) {
  const bool is_method = sources_.code != nullptr && sources_.code->knows(pc, memory_);
  if (pc.is_exact() && !is_method)
    if (const auto outcome = by_evidence(registers)) return *outcome;
  if (sources_.frame_pointers && why.code != ErrorCode::unreadable_memory)
    if (const auto outcome = by_frame_pointer(pc, registers)) return *outcome;
  if (is_outermost(pc)) return {.status = StepStatus::end_of_stack, .trust = Trust::inferred};
  return {.status = StepStatus::failed, .error = why};
}

std::optional<StepOutcome> Walk::by_evidence(Registers& registers) {
  const auto word = [&](Address at, std::uint64_t& value) { return view().word(at, value); };
  const auto look_at = [&](Address address) {
    const Address stripped = address & ~sources_.pac_mask;
    const bool is_caller = follows_call(stripped) && is_described(CodeAddress::after_call(stripped));
    return is_caller ? walk::ReturnBelief::caller : walk::ReturnBelief::not_an_address;
  };
  const auto caller = walk::bare_caller(registers, sources_.code != nullptr, word, look_at);
  if (!caller) return std::nullopt;
  registers.set_pc(caller->pc & ~sources_.pac_mask);
  registers.set_sp(caller->sp);
  if (caller->fp) registers.set_fp(*caller->fp);
  return StepOutcome{.status = StepStatus::caller, .stepper = StepperId::stub, .trust = Trust::inferred};
}

/// Continues at the next frame of the thread's list. The frames skipped are not known, and not shown. A walk goes
/// through the list once.
StepOutcome Walk::by_outer_frame(Registers& registers, const Error& why) {
  constexpr unsigned kMostTries = 64;  // entries behind no call; a list has hardly one
  // If registers are missing, the careful walk may find a rule; if the pc leads nowhere, the frame is removed.
  const StepOutcome stuck{.status = StepStatus::failed, .error = why};
  if (led_nowhere_ || (why.code == ErrorCode::register_unknown && !is_careful_)) return stuck;
  const Address sp = known_sp(registers);
  OuterFrame found;
  for (unsigned i = 0; i < kMostTries; i++) {
    if (!outer_->next(sp, sources_.stack, memory_, outer_place_, found)) return stuck;
    if (!follows_call(found.pc)) continue;
    unwind::LightFrame frame;
    frame.pc = CodeAddress::after_call(found.pc);
    frame.sp = found.sp, frame.fp = found.fp;
    registers = frame.registers(registers.arch());
    return {.status = StepStatus::caller, .stepper = StepperId::explicit_frame, .trust = Trust::checkpoint};
  }
  return stuck;
}

std::optional<StepOutcome> Walk::by_frame_pointer(CodeAddress pc, Registers& registers) {
  Registers changed = registers;
  changed.set_sp(known_sp(registers));
  const auto found = unwind::frame_pointer_rule(changed, view());
  if (!found) return std::nullopt;
  const auto caller = unwind::apply(found->rule, changed, pc, view(), sources_.pac_mask);
  if (!caller) return std::nullopt;
  StepOutcome outcome{.status = StepStatus::end_of_stack, .stepper = StepperId::frame_pointer};
  outcome.trust = Trust::frame_pointer;
  if (caller->is_end_of_stack) return outcome;
  if (!follows_call(caller->pc.raw())) return std::nullopt;
  outcome.status = StepStatus::caller;
  outcome.sp_at_least = caller->cfa;
  if (!found->sp_is_exact) changed.forget(arch_registers(changed.arch()).sp);
  registers = changed;
  return outcome;
}

}  // namespace mixstack::self_walk
