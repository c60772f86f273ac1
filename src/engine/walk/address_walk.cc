#include "engine/walk/address_walk.h"

#include "base/arch/per_cpu.h"

namespace mixstack::walk {
namespace {

using unwind::CompactKind;
using unwind::RuleStatus;
using unwind::RuleStep;

/// Walks with sp and frame pointer only, which most rules need.
template <Arch A>
class LightSteps {
 public:
  explicit LightSteps(const Registers& registers) : frame_(unwind::LightFrame::innermost(registers)) {}
  [[nodiscard]] CodeAddress pc() const { return frame_.pc; }
  [[nodiscard]] Address sp() const { return frame_.sp; }
  RuleStep step(unwind::RuleStepper& engine, const StackView& stack) { return engine.light<A, true>(frame_, stack); }

 private:
  unwind::LightFrame frame_;
};

template <Arch A>
class FullSteps {
 public:
  explicit FullSteps(const Registers& registers) : registers_(registers), pc_(CodeAddress::exact(registers.pc())) {}
  [[nodiscard]] CodeAddress pc() const { return pc_; }
  [[nodiscard]] Address sp() const { return registers_.sp(); }
  RuleStep step(unwind::RuleStepper& engine, const StackView& stack) {
    const RuleStep step = engine.step_full<A, true>(pc_, registers_, stack);
    if (step.status == RuleStatus::caller) pc_ = step.pc;
    return step;
  }

 private:
  Registers registers_;
  CodeAddress pc_;
};

template <Arch A, class Steps>
std::optional<PlainWalk> walk(unwind::RuleStepper& engine, Steps at, const StackView& stack,
                              std::span<const Mark> marks, std::span<CodeAddress> out) {
  BasicWitness<Mark> witness(marks);
  bool was_native = false;
  Address native_since = 0;  // sp of the innermost frame of this native run
  for (std::size_t n = 0;;) {
    if (n == out.size()) return PlainWalk{n, true};
    const CodeAddress pc = at.pc();
    const Address sp = at.sp();
    const RuleStep step = at.step(engine, stack);
    const bool is_native = step.module != kNoModule;
    if (!is_native) {
      // Code outside of all images with a compact rule is a method's.
      if (engine.place<A>(pc).kind != CompactKind::register_offset) return std::nullopt;
      if (witness.arrive(sp) == Verdict::missed) return std::nullopt;
    } else if (!was_native) {
      native_since = sp;
    }
    was_native = is_native;
    out[n++] = pc;
    if (step.status == RuleStatus::end_of_stack) {
      const Mark* further = witness.way_out(is_native ? native_since : sp);
      if (further != nullptr && (is_native || further->sp <= sp)) return std::nullopt;
      return PlainWalk{n, false};
    }
    if (step.status != RuleStatus::caller || step.pc.is_exact()) return std::nullopt;
    if (!is_native) witness.leave(at.sp());
  }
}

}  // namespace

std::optional<PlainWalk> plain_addresses(unwind::RuleStepper& engine, const Registers& registers,
                                         const StackView& stack, std::span<const Mark> marks,
                                         std::span<CodeAddress> out) {
  return arch::dispatch(engine.arch(), std::optional<PlainWalk>(), [&]<Arch A>() {
    const auto found = walk<A>(engine, LightSteps<A>(registers), stack, marks, out);
    return found ? found : walk<A>(engine, FullSteps<A>(registers), stack, marks, out);
  });
}

}  // namespace mixstack::walk
