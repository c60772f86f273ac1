// Single steps by one mechanism, and the locations of the values that a step found.
#include <algorithm>

#include "engine/unwind/apply.h"
#include "frontends/stackwalker/engine.h"

namespace mixstack::stackwalker {
namespace {

constexpr Address kWord = 8;
constexpr unsigned kScanWords = 256;  // as many as Dyninst

Location in_memory(Address address) { return {Location::Kind::memory, address, 0}; }

/// The location that a rule gives a register; `unchanged`: where its value was found for the callee.
Location location_of(const unwind::SavedLocation& saved, const Location& unchanged) {
  using Kind = unwind::SavedLocation::Kind;
  switch (saved.kind) {
    case Kind::memory:
      return in_memory(saved.address);
    case Kind::in_register:
      return {Location::Kind::in_register, 0, saved.reg};
    case Kind::unchanged:
      return unchanged;
    case Kind::unknown:
    case Kind::computed:
      break;
  }
  return {};
}

using Mechanism = session::CaptureWalk::Mechanism;

bool is_by_rule(StepperId id) {
  return id == StepperId::eh_frame || id == StepperId::debug_frame || id == StepperId::signal_frame;
}

/// A return address and the sp behind it, as if a stepper had said so.
class Guess final : public walk::FrameStepper {
 public:
  explicit Guess(const Registers& caller) : caller_(caller) {}
  [[nodiscard]] std::string_view name() const override { return "scan"; }
  [[nodiscard]] bool claim(Frame&) override { return false; }
  [[nodiscard]] StepOutcome step(Cursor& cursor, const ThreadInput&) override {
    cursor.registers = caller_;
    return {.status = StepStatus::caller, .stepper = StepperId::scan, .trust = Trust::inferred};
  }

 private:
  Registers caller_;
};

Engine::Step not_mine() { return {StepStatus::not_mine, {}, {}}; }

/// Native code of no module is described by an image that its compiler shows to debuggers.
Mechanism unwinder_of(const Frame& frame) { return frame.module == kNoModule ? Mechanism::jit_image : Mechanism::cfi; }

}  // namespace

bool Engine::locate_by_rule(const FramePlace& from, FramePlace& to) {
  if (from.frame.module == kNoModule || !is_by_rule(to.frame.found_by)) return false;
  const auto rule = walk_->walk.native().rule_at(from.frame.pc);
  if (!rule) return false;
  const ArchRegisters numbers = arch_registers(from.registers.arch());
  const StackView stack = walk_->walk.input_for(*thread()).stack;
  const auto where = [&](unsigned reg, const Location& unchanged) {
    return location_of(unwind::saved_location(*rule, reg, from.registers, from.frame.pc, stack), unchanged);
  };
  to.ra = where(rule->ra_register, {Location::Kind::in_register, 0, rule->ra_register});
  to.fp = where(numbers.fp, from.fp);
  // Without a rule of its own the caller's sp is computed, and lies nowhere.
  if (rule->is_signal_frame) to.sp = where(numbers.sp, {});
  return true;
}

/// Frame records and x86's return addresses: believed only where memory holds exactly the values found.
void Engine::locate_by_record(const FramePlace& from, FramePlace& to) {
  const Registers& registers = from.registers;
  const Address ra = to.frame.pc.raw();
  std::uint64_t word = 0;
  if (!arch::cpu(registers.arch()).has_link_register() && !to.frame.pc.is_exact() && to.frame.sp > kWord &&
      read_word(to.frame.sp - kWord, word) && word == ra)
    to.ra = in_memory(to.frame.sp - kWord);
  const ArchRegisters numbers = arch_registers(registers.arch());
  if (!registers.is_known(numbers.fp) || !to.registers.is_known(numbers.fp)) return;
  const Address fp = registers.fp();
  const bool is_record = fp >= from.frame.sp && fp < to.frame.sp && read_word(fp + kWord, word) && word == ra &&
                         read_word(fp, word) && word == to.registers.fp();
  if (!is_record) return;
  to.ra = in_memory(fp + kWord);
  to.fp = in_memory(fp);
}

void Engine::locate(const FramePlace& from, FramePlace& to) {
  to.ra = to.sp = to.fp = {};
  if (thread() == nullptr || locate_by_rule(from, to)) return;
  locate_by_record(from, to);
}

Engine::Step Engine::ask(walk::FrameStepper& stepper, const FramePlace& from) {
  Cursor cursor{from.registers, from.frame};
  const StepOutcome outcome = walk_->walk.walker().step_by(stepper, cursor, walk_->walk.input_for(*thread()));
  return step_to(from, cursor, outcome);
}

bool Engine::is_signal_frame(const FramePlace& at) {
  if (at.frame.module == kNoModule) return false;
  const auto rule = walk_->walk.native().rule_at(at.frame.pc);
  return rule && rule->is_signal_frame;
}

Engine::Step Engine::scan(const FramePlace& from) {
  for (unsigned i = 0; i < kScanWords; i++) {
    const Address slot = from.frame.sp + i * kWord;
    std::uint64_t word = 0;
    if (!read_word(slot, word)) return {StepStatus::failed, {ErrorCode::unreadable_memory, 0, slot}, {}};
    Address called = 0;
    if (!follows_call(word, called)) continue;
    Registers caller(from.registers.arch());
    caller.set_pc(word);
    caller.set_sp(slot + kWord);
    Guess guess(caller);
    Step step = ask(guess, from);
    if (step.status != StepStatus::caller) continue;
    const auto own = function_start(from.frame.pc.lookup());
    // A direct call of another function did not make this frame.
    if (called != 0 && own && called != *own && function_start(called) != own) continue;
    step.caller.ra = in_memory(slot);
    return step;
  }
  return not_mine();
}

Engine::Step Engine::step_by(Method method, const FramePlace& from) {
  if (thread() == nullptr) return not_mine();
  switch (method) {
    case Method::unwind_info: {
      if (from.frame.kind == FrameKind::native)
        return is_signal_frame(from) ? not_mine() : ask(walk_->walk.stepper(unwinder_of(from.frame)), from);
      if (from.frame.kind == FrameKind::undescribed) return ask(walk_->walk.stepper(Mechanism::copied_code), from);
      Step managed = step(from);
      const bool is_mine = managed.status != StepStatus::caller || managed.caller.frame.trust < Trust::frame_pointer;
      return is_mine ? managed : not_mine();
    }
    case Method::signal:
      if (is_signal_frame(from)) return ask(walk_->walk.stepper(Mechanism::cfi), from);
      return ask(walk_->walk.stepper(Mechanism::signal_trampoline), from);
    case Method::frame_pointer:
      return ask(walk_->walk.stepper(Mechanism::frame_pointer), from);
    case Method::prologue:
      return ask(walk_->walk.stepper(Mechanism::prologue), from);
    case Method::scan: {
      Step known = ask(walk_->walk.stepper(Mechanism::undescribed), from);
      return known.status == StepStatus::caller ? known : scan(from);
    }
  }
  return not_mine();
}

}  // namespace mixstack::stackwalker
