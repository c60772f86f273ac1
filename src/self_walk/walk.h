// One walk, on the stack of whoever walks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "mixstack/self_walk.h"
#include "self_walk/code_rules.h"
#include "self_walk/host.h"
#include "self_walk/outer_frames.h"
#include "self_walk/probed_memory.h"
#include "self_walk/tables.h"
#include "unwind/compact_row.h"
#include "unwind/rule.h"
#include "walk_core/walk_core.h"

namespace mixstack::self_walk {

/// Expressions of one section, while a rule that refers to them is executed. Addresses in them are those of memory.
class SectionExpressions final : public unwind::ExpressionPool {
 public:
  explicit SectionExpressions(const unwind::CfiSection& section) : section_(section) {}
  [[nodiscard]] std::span<const std::byte> expression(std::uint32_t number) const override;

 private:
  unwind::CfiSection section_;
};

/// Signal-safe throughout: no allocation, no locks, no calls beyond memcpy, `_dl_find_object` and raw system calls.
/// `steps` is the way of nearly all walks: pc, sp and frame pointer only. A rule that is based on another register
/// ends it with `needs_all_registers`; then `careful_steps` begins anew with all of them.
class Walk {
 public:
  struct Sources {
    memory::PageProbe probe;
    AddressRange stack;  ///< known bounds of the thread's stack, or empty
    Address own;         ///< who walks uses that stack, if it lies on it, from here down
    bool only_own;       ///< interrupted code on a stack that is not the thread's is the last frame
    std::uint64_t pac_mask;
    const CodeRules* code;  ///< of code outside of all images; null: nobody knows any
    bool frame_pointers;    ///< may be followed where nothing else helps
  };
  /// `begins_inside`: the first frame is our own caller's callee and is left out.
  Walk(const Sources& sources, Tables& tables, std::span<Address> out, bool begins_inside)
      : sources_(sources), tables_(tables), memory_(sources.probe), out_(out), skips_first_(begins_inside) {
    valid_[0] = tables.modules().initial();
    turn_ = tables.turns().present();
  }

  /// As many as `out`, for SelfWalker::walk.
  void tell_owners(std::uint32_t* owners) { owners_ = owners; }
  /// Of the thread that walks itself; null: nobody is asked where the walk is stuck.
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

  /// Where the unwind information of a code location lies.
  struct Site {
    unwind::CfiSection section;
    unwind::Fde fde;
    const unwind::InitialRow* initial = nullptr;
    std::uint16_t module = ModuleRecords::kNone;  ///< kNone: its rules may not be kept
  };

  /// Plain loads begin at `sp`. They reach to the end of the known stack where this walk itself runs on that stack, at
  /// or below `sp`: all above a frame in use is there. Elsewhere (a handler on an alternate stack, registers that mean
  /// nothing) the bounds alone prove nothing, and `prove` asks for each page.
  void use_known_stack(Address sp) {
    const AddressRange& stack = sources_.stack;
    low_ = sp;
    provable_end_ = stack.contains(sp) ? stack.end : sp;
    size_ = stack.contains(sources_.own) && sp >= sources_.own ? provable_end_ - sp : 0;
    words_end_ = size_ >= sizeof(Address) ? provable_end_ - sizeof(Address) + 1 : 0;
  }
  /// Makes plain loads reach the word at `cfa`. False when they did before, or cannot.
  [[nodiscard]] bool prove(Address cfa);
  [[nodiscard]] StackView view() const {
    return {low_, reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(low_)),
            static_cast<std::size_t>(size_), &memory_};
  }
  [[nodiscard]] bool is_valid(std::uint16_t module) const {
    return (valid_[module / 64 % valid_.size()] >> (module % 64) & 1) != 0;
  }
  /// Of modules that may be unloaded: whether the one a rule was kept for is still there.
  [[nodiscard]] bool validate(std::uint16_t module, CodeAddress pc);
  [[nodiscard]] const ModuleRecord* module_at(Address pc, std::uint16_t& index);
  [[nodiscard]] Result<Site> site_at(CodeAddress pc);
  [[nodiscard]] Result<Address> entry_at(const ModuleRecord& module, Address pc);
  [[nodiscard]] bool entry_is_readable(Address entry, const ModuleRecord& module);
  [[nodiscard]] std::optional<std::uint64_t> entry_hidden_by(const Site& site, const ModuleRecord& module);
  [[nodiscard]] Result<void> read_site(Site& site, std::uint64_t offset, const ModuleRecord& module);
  /// Keys of rules tell exact addresses by their highest bit, which no address of user space has.
  [[nodiscard]] static bool is_exact(Address key) { return key >> 63 != 0; }
  [[nodiscard]] static CodeAddress code_address(Address key) {
    return is_exact(key) ? CodeAddress::exact(~key) : CodeAddress::after_call(key);
  }
  /// A rule that is not in the small table.
  [[nodiscard]] PackedRule look_up(Address key);
  /// Validates the module of a rule that was found; finds another rule when it has gone.
  [[nodiscard]] PackedRule look_up_again(Address key, PackedRule found);
  [[nodiscard]] PackedRule make_rule(Address key);
  /// The row at a place of a function; where its unwind information is known to be wrong, the right one.
  [[nodiscard]] unwind::CompactRule row_at(const Site& site, CodeAddress pc);
  [[nodiscard]] PackedRule made_code_rule(Address key);
  void keep_rule(Address key, const PackedRule& rule);
  [[nodiscard]] Result<UnwindRule> general_rule(CodeAddress pc);
  [[nodiscard]] Result<UnwindRule> trampoline_rule(CodeAddress pc);
  [[nodiscard]] std::optional<UnwindRule> plt_stub_rule(CodeAddress pc);
  /// What the core asks of its host: nothing is kept but the address, by those who ask for the step.
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
  /// From code that no rule is known of: by evidence, or by its frame pointer.
  [[nodiscard]] StepOutcome without_rule(CodeAddress pc, Registers& registers, const Error& why);
  [[nodiscard]] std::optional<StepOutcome> by_evidence(Registers& registers);
  [[nodiscard]] std::optional<StepOutcome> by_frame_pointer(CodeAddress pc, Registers& registers);
  /// Where the walk is stuck: what the thread's list says of a caller further out.
  [[nodiscard]] StepOutcome by_outer_frame(Registers& registers, const Error& why);
  [[nodiscard]] bool follows_call(Address return_address);
  [[nodiscard]] bool is_described(CodeAddress pc);
  [[nodiscard]] bool is_replaced(CodeAddress pc);
  [[nodiscard]] bool is_outermost(CodeAddress pc);
  [[nodiscard]] Address known_sp(const Registers& registers) const {
    return registers.is_known(arch_registers(registers.arch()).sp) ? registers.sp() : sp_at_least_;
  }
  /// One step by the general rule. False when the walk is over.
  [[nodiscard]] bool general_step(CodeAddress& pc, Registers& registers);
  template <Arch A, bool kOwned>
  void steps_on(unwind::LightFrame frame);
  /// Apart, for the loop that calls it to stay small.
  template <Arch A>
  [[nodiscard, gnu::noinline]] bool slow_step(unwind::LightFrame& frame);
  /// The last return address turned out to be none.
  void take_back_nowhere() {
    if (led_nowhere_ && trace_.count > 0) trace_.count--;
  }

  /// Answer false, for the steps to return.
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
  Address low_ = 0;  ///< plain loads are made in [low_, low_ + size_), which is proved to be readable
  std::uint64_t size_ = 0;
  Address words_end_ = 0;     ///< words there begin below this address; 0: there are none
  Address provable_end_ = 0;  ///< how far `prove` may extend it
  bool skips_first_;
  bool needs_all_registers_ = false;
  bool led_nowhere_ = false;
  bool is_careful_ = false;                    ///< all registers are known at the begin
  bool left_own_ = false;                      ///< the last frame is of interrupted code on another stack
  std::uint64_t turn_ = 0;                     ///< of RuleTurns, when the walk began
  std::size_t doubtful_at_ = ~std::size_t{0};  ///< the first frame that was found by a step less than certain
  Address outer_place_ = 0;                    ///< in the list of OuterFrames
  Address sp_at_least_ = 0;                    ///< where a step by a frame pointer left sp unknown
  std::array<std::uint64_t, ModuleRecords::kMost / 64> valid_{};
  GeneralHost general_host_;
  std::optional<walk::WalkCore<GeneralHost>> general_;  ///< made when the first step needs it
  std::optional<SectionExpressions> expressions_;
  std::optional<ModuleRecord> unkept_;  ///< of a module that cannot be kept
  Address initial_at_ = 0;
  std::optional<unwind::InitialRow> initial_;  ///< of the CIE at `initial_at_`
};

}  // namespace mixstack::self_walk
