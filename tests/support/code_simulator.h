// Runs the machine code of one function on symbols (symbolic_frame.h) along every path. For tests only.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <capstone/capstone.h>

#include "support/symbolic_frame.h"

namespace mixstack::test {

/// Where control can go from an instruction.
struct Flow {
  bool falls_through = true;
  std::vector<std::uint64_t> targets;
};

/// A function's code, and what holds before each of its instructions.
struct SimulatedFunction {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::map<std::uint64_t, SymbolicState> states;
  std::uint64_t written = 0;  ///< registers that any reached instruction writes

  /// Callee-saved registers that are written without ever having been saved. Funclets do that since .NET 9: the helper
  /// that calls them preserves the registers. No unwinder can bring such a register back.
  [[nodiscard]] std::uint64_t destroyed(std::uint64_t callee_saved) const {
    std::uint64_t result = written & callee_saved;
    for (const auto& [at, state] : states) {
      for (const auto& [slot, value] : state.slots) {
        if (value.kind == SymbolicValue::Kind::entry) result &= ~(std::uint64_t{1} << value.value);
      }
    }
    return result;
  }
};

/// One CPU's instructions. Code is given as a span whose first byte has a given address.
class CodeSimulator {
 public:
  CodeSimulator(cs_arch arch, cs_mode mode, std::span<const std::byte> code, std::uint64_t address)
      : code_(code), address_(address) {
    if (cs_open(arch, mode, &handle_) != CS_ERR_OK) throw std::runtime_error("capstone");
    cs_option(handle_, CS_OPT_DETAIL, CS_OPT_ON);
    insn_ = cs_malloc(handle_);
  }
  virtual ~CodeSimulator() {
    cs_free(insn_, 1);
    cs_close(&handle_);
  }
  CodeSimulator(const CodeSimulator&) = delete;
  CodeSimulator& operator=(const CodeSimulator&) = delete;

  /// `end` of the result is where jump tables behind the code begin.
  SimulatedFunction run(std::uint64_t begin, std::uint64_t end) {
    end = code_end(begin, end);
    SimulatedFunction f{begin, end, {}, 0};
    reach(f, begin, entry_state());
    drain(f);
    // What is left is entered through a switch table or by the runtime behind a catch: with the frame set up and
    // nothing known of the registers this function uses.
    const SymbolicState body = body_state(f);
    for (std::uint64_t at = begin; at < end && decode(at, end) != 0;) {
      const unsigned size = decode(at, end);
      if (f.states.find(at) == f.states.end() && !is_filler() && body.reached) {
        reach(f, at, body);
        drain(f);
      }
      at += size;
    }
    return f;
  }

  /// Decodes the instruction at `at`; 0 when there is none. The questions below are about it.
  unsigned decode(std::uint64_t at, std::uint64_t end) {
    if (at < address_ || at >= end || end - address_ > code_.size()) return 0;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(code_.data()) + (at - address_);
    std::size_t size = end - at;
    std::uint64_t address = at;
    return cs_disasm_iter(handle_, &bytes, &size, &address, insn_) ? insn_->size : 0;
  }
  [[nodiscard]] virtual bool is_call() const = 0;
  /// Padding behind a function or a call that does not return.
  [[nodiscard]] virtual bool is_filler() const = 0;
  std::string text(std::uint64_t at, std::uint64_t end) {
    return decode(at, end) != 0 ? std::string(insn_->mnemonic) + " " + insn_->op_str : "?";
  }

 protected:
  [[nodiscard]] virtual SymbolicState entry_state() const = 0;
  [[nodiscard]] virtual std::uint64_t code_end(std::uint64_t /*begin*/, std::uint64_t end) { return end; }
  [[nodiscard]] virtual unsigned stack_pointer() const = 0;
  [[nodiscard]] virtual unsigned frame_pointer() const = 0;
  /// Where the decoded instruction leads.
  [[nodiscard]] virtual Flow flow() const = 0;
  /// Its effect; `f.written` is kept through set().
  virtual void execute(SimulatedFunction& f, SymbolicState& s) = 0;
  /// DWARF number of a capstone register or of a part of one; kMax for others.
  [[nodiscard]] virtual unsigned dwarf_of(unsigned reg) const = 0;

  static void set(SimulatedFunction& f, SymbolicState& s, unsigned reg, SymbolicValue v) {
    if (reg >= Registers::kMax) return;
    s.regs[reg] = v;
    f.written |= std::uint64_t{1} << reg;
  }
  /// All registers the decoded instruction writes become unknown.
  void forget_written(SimulatedFunction& f, SymbolicState& s) {
    cs_regs read;
    cs_regs write;
    std::uint8_t reads = 0;
    std::uint8_t writes = 0;
    if (cs_regs_access(handle_, insn_, read, &reads, write, &writes) != CS_ERR_OK) return;
    for (unsigned i = 0; i < writes; i++) set(f, s, dwarf_of(write[i]), {});
  }
  [[nodiscard]] const cs_insn& insn() const { return *insn_; }
  [[nodiscard]] bool is_in(unsigned group) const {
    for (unsigned i = 0; i < insn_->detail->groups_count; i++) {
      if (insn_->detail->groups[i] == group) return true;
    }
    return false;
  }

 private:
  void reach(SimulatedFunction& f, std::uint64_t at, const SymbolicState& state) {
    if (at < f.begin || at >= f.end) return;
    if (f.states[at].merge(state)) todo_.push_back(at);
  }
  void drain(SimulatedFunction& f) {
    while (!todo_.empty()) {
      const std::uint64_t at = todo_.back();
      todo_.pop_back();
      const unsigned size = decode(at, f.end);
      if (size == 0) continue;
      SymbolicState state = f.states[at];
      const Flow next = flow();
      for (const auto target : next.targets) reach(f, target, state);
      if (!next.falls_through) continue;
      execute(f, state);
      reach(f, at + size, state);
    }
  }
  /// The deepest frame with the most in it, with only untouched registers and those that point into it kept.
  [[nodiscard]] SymbolicState body_state(const SimulatedFunction& f) const {
    SymbolicState best;
    std::pair<std::int64_t, std::size_t> best_rank{-1, 0};
    for (const auto& [at, s] : f.states) {
      const auto sp = s.address(stack_pointer());
      const std::pair<std::int64_t, std::size_t> rank{sp ? -*sp : -1,
                                                      s.slots.size() + (s.address(frame_pointer()) ? 1 : 0)};
      if (rank <= best_rank) continue;
      best_rank = rank;
      best = s;
    }
    for (unsigned r = 0; r < Registers::kMax; r++) {
      const bool points = r == stack_pointer() || r == frame_pointer();
      const bool entry = best.regs[r].kind == SymbolicValue::Kind::entry;
      if (entry ? (f.written >> r & 1) != 0 : !points) best.regs[r] = {};
    }
    return best;
  }

  std::span<const std::byte> code_;
  std::uint64_t address_;
  csh handle_ = 0;
  cs_insn* insn_ = nullptr;
  std::vector<std::uint64_t> todo_;
};

}  // namespace mixstack::test
