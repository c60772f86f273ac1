// One walk of the calling process's own stack.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/self_walk/code_rules.h"
#include "engine/self_walk/host.h"
#include "engine/self_walk/outer_frames.h"
#include "engine/self_walk/probed_memory.h"
#include "engine/self_walk/tables.h"
#include "engine/unwind/compact_row.h"
#include "engine/unwind/rule.h"
#include "engine/walk_core/walk_core.h"
#include "mixstack/self_walk.h"

namespace mixstack::self_walk {

/// Expressions of one section, while a rule that refers to them is executed. Their addresses are those in memory.
class SectionExpressions final : public unwind::ExpressionPool {
 public:
  explicit SectionExpressions(const unwind::CfiSection& section) : section_(section) {}
  [[nodiscard]] std::span<const std::byte> expression(std::uint32_t number) const override;

 private:
  unwind::CfiSection section_;
};

/// Signal-safe throughout: no allocation, no locks, no calls beyond memcpy, `_dl_find_object` and raw system calls.
/// Nearly all walks use `steps`: pc, sp and frame pointer only. A rule based on another register ends it with
/// `needs_all_registers`; then `careful_steps` starts again with all of them.
class Walk {
 public:
  struct Sources {
    memory::PageProbe probe;
    AddressRange stack;  ///< known bounds of the thread's stack, or empty
    Address own;         ///< if the walker runs on that stack, it uses it from here down
    bool only_own;       ///< code interrupted on a stack that is not the thread's is the last frame
    std::uint64_t pac_mask;
    const CodeRules* code;  ///< for code outside of all images; null: none
    bool frame_pointers;    ///< may be followed as a last resort
  };
  /// `begins_inside`: the first frame is ours, called by the one to show, and is left out.
  Walk(const Sources& sources, Tables& tables, std::span<Address> out, bool begins_inside)
      : sources_(sources), tables_(tables), memory_(sources.probe), out_(out), skips_first_(begins_inside) {
    valid_[0] = tables.modules().initial();
    turn_ = tables.turns().present();
  }

  /// As many as `out`; see SelfWalker::walk.
  void tell_owners(std::uint32_t* owners) { owners_ = owners; }
  /// Sets the list of outer frames, of the thread that walks itself; null: a walk that cannot continue ends.
  void ask_outer_frames(const OuterFrames* outer) { outer_ = outer; }
  void steps(const unwind::LightFrame& frame);
  void careful_steps(Registers registers, CodeAddress pc);
  [[nodiscard]] bool needs_all_registers() const { return needs_all_registers_; }
  void begin_again();
  [[nodiscard]] SelfTrace finish() const {
    SelfTrace trace = trace_;
    // Each frame but the one the walk began with was found by a step.
    const auto found = static_cast<std::uint32_t>(trace.count - (skips_first_ || trace.count == 0 ? 0 : 1));
    trace.plain_frames = found - std::min(found, trace.probed_frames);
    trace.pages_probed = memory_.pages_probed();
    trace.sure = std::min(doubtful_at_, trace.count);
    return trace;
  }

 private:
  using UnwindRule = unwind::UnwindRule;

  /// The unwind information of a code location.
  struct Site {
    unwind::CfiSection section;
    unwind::Fde fde;
    const unwind::InitialRow* initial = nullptr;
    std::uint16_t module = ModuleRecords::kNone;  ///< kNone: its rules may not be kept
  };

  /// Plain loads begin at `sp`. They reach to the end of the known stack if this walk itself runs on that stack, at or
  /// below `sp`: all above a frame in use is there. Otherwise (a handler on an alternate stack, garbage registers) the
  /// bounds alone prove nothing, and `prove` probes each page.
  void use_known_stack(Address sp) {
    const AddressRange& stack = sources_.stack;
    low_ = sp;
    provable_end_ = stack.contains(sp) ? stack.end : sp;
    size_ = stack.contains(sources_.own) && sp >= sources_.own ? provable_end_ - sp : 0;
    words_end_ = size_ >= sizeof(Address) ? provable_end_ - sizeof(Address) + 1 : 0;
  }
  /// Extends plain loads to the word at `cfa`. False: they reached it before, or cannot.
  [[nodiscard]] bool prove(Address cfa);
  [[nodiscard]] StackView view() const {
    return {low_, reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(low_)),
            static_cast<std::size_t>(size_), &memory_};
  }
  [[nodiscard]] bool is_valid(std::uint16_t module) const {
    return (valid_[module / 64 % valid_.size()] >> (module % 64) & 1) != 0;
  }
  /// For modules that may be unloaded: whether the module of a rule is still loaded.
  [[nodiscard]] bool validate(std::uint16_t module, CodeAddress pc);
  [[nodiscard]] const ModuleRecord* module_at(Address pc, std::uint16_t& index);
  [[nodiscard]] Result<Site> site_at(CodeAddress pc);
  [[nodiscard]] Result<Address> entry_at(const ModuleRecord& module, Address pc);
  [[nodiscard]] bool entry_is_readable(Address entry, const ModuleRecord& module);
  [[nodiscard]] std::optional<std::uint64_t> entry_hidden_by(const Site& site, const ModuleRecord& module);
  [[nodiscard]] Result<void> read_site(Site& site, std::uint64_t offset, const ModuleRecord& module);
  /// The highest bit of a key marks exact addresses; no user-space address has it.
  [[nodiscard]] static bool is_exact(Address key) { return key >> 63 != 0; }
  [[nodiscard]] static CodeAddress code_address(Address key) {
    return is_exact(key) ? CodeAddress::exact(~key) : CodeAddress::after_call(key);
  }
  /// Finds a rule that is not in the small table.
  [[nodiscard]] PackedRule look_up(Address key);
  /// Validates the module of a rule that was found; finds another rule if it was unloaded.
  [[nodiscard]] PackedRule look_up_again(Address key, PackedRule found);
  [[nodiscard]] PackedRule make_rule(Address key);
  /// The row at a place of a function, corrected if its unwind information is known to be wrong.
  [[nodiscard]] unwind::CompactRule row_at(const Site& site, CodeAddress pc);
  template <class Rule>
  void correct_known_error(Rule& rule, const unwind::Fde& fde);
  [[nodiscard]] PackedRule made_code_rule(Address key);
  void keep_rule(Address key, const PackedRule& rule);
  [[nodiscard]] Result<UnwindRule> general_rule(CodeAddress pc);
  [[nodiscard]] Result<UnwindRule> trampoline_rule(CodeAddress pc);
  [[nodiscard]] std::optional<UnwindRule> plt_stub_rule(CodeAddress pc);
  /// The host of the walk core. It keeps only the address; callers of the step keep the rest.
  struct GeneralHost {
    Frame frame;
    [[nodiscard]] std::size_t size() const { return 0; }
    [[nodiscard]] Frame& last() { return frame; }
    void record(const Cursor&, Trust) {}
    void drop_last() {}
    void confirm() {}
    [[nodiscard]] bool claim(const Cursor& cursor);
    void keep_claim() {}
    void explain(StepperId, const Error&) {}
  };
  [[nodiscard]] StepOutcome by_general_rule(CodeAddress pc, Registers& registers);
  /// Steps from code without a known rule: by evidence, or by the frame pointer.
  [[nodiscard]] StepOutcome without_rule(CodeAddress pc, Registers& registers, const Error& why);
  [[nodiscard]] std::optional<StepOutcome> by_evidence(Registers& registers);
  [[nodiscard]] std::optional<StepOutcome> by_frame_pointer(CodeAddress pc, Registers& registers);
  /// Continues a walk that is stuck at a caller further out, by the thread's list.
  [[nodiscard]] StepOutcome by_outer_frame(Registers& registers, const Error& why);
  [[nodiscard]] bool follows_call(Address return_address);
  [[nodiscard]] bool is_described(CodeAddress pc);
  [[nodiscard]] bool is_replaced(CodeAddress pc);
  [[nodiscard]] bool is_outermost(CodeAddress pc);
  [[nodiscard]] Address known_sp(const Registers& registers) const {
    return registers.is_known(arch_registers(registers.arch()).sp) ? registers.sp() : sp_at_least_;
  }
  /// One step by the general rule. False: the walk is over.
  [[nodiscard]] bool general_step(CodeAddress& pc, Registers& registers);
  template <Arch A, bool kOwned>
  void steps_on(unwind::LightFrame frame);
  /// Not inlined, to keep its caller's loop small.
  template <Arch A>
  [[nodiscard, gnu::noinline]] bool slow_step(unwind::LightFrame& frame);
  /// Removes the last frame: its return address leads nowhere.
  void take_back_nowhere() {
    if (led_nowhere_ && trace_.count > 0) trace_.count--;
  }

  /// Returns false, for the steps to return.
  bool stop(StopReason reason) {
    trace_.stop = reason;
    return false;
  }
  [[nodiscard]] bool add(Address pc) {
    if (trace_.count == out_.size()) return stop(StopReason::max_frames);
    if (owners_ != nullptr) owners_[trace_.count] = CodeRules::kUnknownOwner;
    out_[trace_.count++] = pc;
    return true;
  }

  Sources sources_;
  Tables& tables_;
  ProbedMemory memory_;
  std::span<Address> out_;
  std::uint32_t* owners_ = nullptr;
  const OuterFrames* outer_ = nullptr;
  SelfTrace trace_;
  Address low_ = 0;  ///< plain loads are made in [low_, low_ + size_), proved to be readable
  std::uint64_t size_ = 0;
  Address words_end_ = 0;     ///< words there begin below this address; 0: none
  Address provable_end_ = 0;  ///< limit of `prove`
  bool skips_first_;
  bool needs_all_registers_ = false;
  bool led_nowhere_ = false;
  bool is_careful_ = false;                    ///< all registers are known at the start
  bool left_own_ = false;                      ///< the last frame is interrupted code on another stack
  std::uint64_t turn_ = 0;                     ///< turn of RuleTurns when the walk began
  std::size_t doubtful_at_ = ~std::size_t{0};  ///< the first frame found by an uncertain step
  Address outer_place_ = 0;                    ///< in the list of OuterFrames
  Address sp_at_least_ = 0;                    ///< lower bound of an sp that a step by a frame pointer left unknown
  std::array<std::uint64_t, ModuleRecords::kMost / 64> valid_{};
  GeneralHost general_host_;
  std::optional<walk::WalkCore<GeneralHost>> general_;  ///< made at the first step that needs it
  std::optional<SectionExpressions> expressions_;
  std::optional<ModuleRecord> unkept_;  ///< of a module that cannot be kept
  Address initial_at_ = 0;
  std::optional<unwind::InitialRow> initial_;  ///< of the CIE at `initial_at_`
};

}  // namespace mixstack::self_walk
