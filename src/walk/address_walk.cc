#include "walk/address_walk.h"

#include <algorithm>

#include "arch/per_cpu.h"
#include "walk_core/witness.h"

namespace mixstack::walk {
namespace {

using unwind::CompactKind;
using unwind::RuleStatus;

template <Arch A>
std::optional<PlainWalk> walk(unwind::RuleStepper& engine, const ThreadInput& thread, std::span<CodeAddress> out) {
  Witness witness(thread.checkpoints);
  Registers registers = thread.registers;
  CodeAddress pc = CodeAddress::exact(registers.pc());
  Address sp = registers.sp();
  bool was_native = false;
  Address native_since = 0;  // sp of the innermost frame of this native run
  for (std::size_t n = 0;;) {
    const unwind::CodePlace place = engine.place<A>(pc);
    const bool is_native = place.module != kNoModule;
    // Code outside of all images, for which there is a small rule, is a method's.
    if (!is_native && place.kind != CompactKind::register_offset) return std::nullopt;
    if (is_native && !was_native) native_since = sp;
    if (!is_native && witness.arrive(sp) == Verdict::missed) return std::nullopt;
    was_native = is_native;
    if (n == out.size()) return PlainWalk{n, true};
    out[n++] = pc;

    const unwind::RuleStep step = engine.step_full<A, true>(pc, registers, thread.stack);
    if (step.status == RuleStatus::end_of_stack) {
      const Checkpoint* further = witness.way_out(is_native ? native_since : sp);
      if (further != nullptr && (is_native || further->context.sp() <= sp)) return std::nullopt;
      return PlainWalk{n, false};
    }
    if (step.status != RuleStatus::caller || step.pc.is_exact()) return std::nullopt;
    pc = step.pc;
    sp = registers.sp();
    if (!is_native) witness.leave(sp);
  }
}

}  // namespace

std::optional<PlainWalk> plain_addresses(unwind::RuleStepper& engine, const ThreadInput& thread,
                                         std::span<CodeAddress> out) {
  // Interrupted code is known to its Frame better than to the stack.
  const auto is_of_interrupted = [](const Checkpoint& c) { return c.interrupted; };
  if (std::any_of(thread.checkpoints.begin(), thread.checkpoints.end(), is_of_interrupted)) return std::nullopt;
  return arch::dispatch(engine.arch(), std::optional<PlainWalk>(),
                        [&]<Arch A>() { return walk<A>(engine, thread, out); });
}

}  // namespace mixstack::walk
