#include "dotnet/dac/dac_stepper.h"

#include <algorithm>

#include "base/arch/context.h"
#include "base/arch/cpu.h"
#include "engine/unwind/apply.h"

namespace mixstack::dotnet::dac {

using walk::StepOutcome;
using walk::StepStatus;

namespace {

/// The registers of a caller that can be relied upon: the DAC restores what the method saved and keeps the others, but
/// does not say which, and takes unknown ones for zero.
Registers believable(const Registers& of_dac, const Registers& callee) {
  const auto numbers = arch_registers(of_dac.arch());
  const auto bit = [](unsigned reg) { return std::uint64_t{1} << reg; };
  const std::uint64_t place = bit(numbers.pc) | bit(numbers.sp) | bit(numbers.fp);
  Registers known = of_dac;
  known.keep(place | (arch::cpu(of_dac.arch()).preserved_with_sp() & callee.known()));
  return known;
}

}  // namespace

void DacStepper::begin_capture(const MemoryReader& memory, std::unordered_map<std::uint32_t, std::uint32_t> threads) {
  memory_ = &memory;
  os_ids_ = std::move(threads);
  rows_.clear();
  callers_.clear();
}

const Result<ManagedRow>& DacStepper::row(CodeAddress pc) {
  const auto known = rows_.find(pc.lookup());
  if (known != rows_.end()) return known->second;
  const Description& method = provider_.describe(pc);
  return rows_.emplace(pc.lookup(), managed_row(*memory_, *modules_, provider_.arch(), method, pc)).first->second;
}

bool DacStepper::claim(Frame& frame) {
  const Description& d = provider_.describe(frame.pc);
  if (d.kind == CodeClass::none) return false;
  frame.kind = d.kind == CodeClass::method ? FrameKind::managed : FrameKind::runtime_stub;
  frame.method = d.method;
  frame.method_start = d.start;
  if (frame.kind != FrameKind::managed || memory_ == nullptr) return true;
  if (const auto& known = row(frame.pc)) frame.funclet = known->funclet;
  return true;
}

void DacStepper::ask(const walk::Cursor& cursor, std::uint32_t os_id) {
  WalkRequest request;
  request.thread = os_id;
  request.from_context = true;
  request.stop_at_native = true;
  request.is_interrupted = cursor.frame.is_interrupted;
  const auto* layout = arch::context_layout(cursor.registers.arch());
  if (layout == nullptr) return;
  request.context.resize(layout->size);
  if (!arch::encode_context(cursor.registers, request.context)) return;
  const auto walk = provider_.raw_walk(request);
  if (!walk) {
    const auto& d = walk.error();
    if (d.error.code == ErrorCode::not_found) return;  // the DAC cannot tell: an answer, not a fault
    const bool known = std::any_of(diagnoses_.begin(), diagnoses_.end(),
                                   [&](const auto& old) { return old.error == d.error && old.text == d.text; });
    if (!known) diagnoses_.push_back(d);
    return;
  }
  Registers callee = cursor.registers;
  for (std::size_t i = 0; i + 1 < walk->elements.size(); i++) {
    const Element& e = walk->elements[i];
    if (e.kind != ElementKind::method || e.registers.pc() != callee.pc() || e.registers.sp() != callee.sp()) break;
    const Registers caller = believable(walk->elements[i + 1].registers, callee);
    if (caller.sp() <= callee.sp()) break;
    callers_.emplace(Place{callee.pc(), callee.sp()}, caller);
    callee = caller;
  }
}

StepOutcome DacStepper::step(walk::Cursor& cursor, const walk::ThreadInput& thread) {
  if (cursor.frame.kind != FrameKind::managed) return {};
  const Place place{cursor.registers.pc(), cursor.registers.sp()};
  if (thread_ != thread.tid) callers_.clear();
  thread_ = thread.tid;
  auto known = callers_.find(place);
  if (const auto id = os_ids_.find(thread.tid); known == callers_.end() && id != os_ids_.end()) {
    ask(cursor, id->second);
    known = callers_.find(place);
  }
  if (known == callers_.end()) return by_unwind_codes(cursor, thread);
  cursor.registers = known->second;
  StepOutcome outcome{.status = StepStatus::caller, .stepper = StepperId::managed};
  if (cursor.registers.pc() == 0) outcome.status = StepStatus::end_of_stack;
  return outcome;
}

StepOutcome DacStepper::by_unwind_codes(walk::Cursor& cursor, const walk::ThreadInput& thread) {
  StepOutcome outcome{.status = StepStatus::failed, .stepper = StepperId::managed};
  const auto& found = row(cursor.frame.pc);
  if (!found) {
    outcome.error = found.error();
    return outcome;
  }
  auto rule = managed_rule(*memory_, *found, cursor.registers.arch(), cursor.frame.pc);
  if (!rule) {
    outcome.error = rule.error();
    return outcome;
  }
  auto caller = unwind::apply(*rule, cursor.registers, cursor.frame.pc, thread.stack);
  if (!caller) {
    outcome.error = caller.error();
    return outcome;
  }
  outcome.trust = rule->trust;
  outcome.status = caller->is_end_of_stack ? StepStatus::end_of_stack : StepStatus::caller;
  return outcome;
}

}  // namespace mixstack::dotnet::dac
