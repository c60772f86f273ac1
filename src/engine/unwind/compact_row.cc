#include "engine/unwind/compact_row.h"

#include <array>

#include "engine/unwind/cfi_program.h"
#include "engine/unwind/cfi_row_state.h"

namespace mixstack::unwind {
namespace {

/// Remembered states in place: more than compilers nest. If it is full, the row counts as broken, never as another row.
class SmallStack {
 public:
  bool push(const CfiCompiler::State& state) {
    if (size_ == states_.size()) return false;
    states_[size_++] = state;
    return true;
  }
  bool pop(CfiCompiler::State& state) {
    if (size_ == 0) return false;
    state = states_[--size_];
    return true;
  }

 private:
  std::array<CfiCompiler::State, 4> states_;
  std::size_t size_ = 0;
};

/// Stops at the first location behind the one sought.
class RowSeeker : public CompactRowState<SmallStack> {
 public:
  /// `fde` is null while the instructions of a CIE are executed: they have no location.
  RowSeeker(const CfiSection& section, const State& initial, const Fde* fde, std::uint64_t target)
      : CompactRowState(section, initial, {}),
        location_(fde != nullptr ? fde->pc_begin : 0),
        target_(target),
        bad_at_once_(fde == nullptr) {}

  bool advance(std::uint64_t delta) { return set_location(location_ + delta); }
  bool set_location(std::uint64_t address) {
    if (bad_at_once_ || address < location_) bad_ = true;
    location_ = address;
    return !bad_ && location_ <= target_;
  }
  [[nodiscard]] bool is_bad() const { return bad_; }
  [[nodiscard]] CompactRule row() const { return current(); }

 private:
  std::uint64_t location_, target_;
  bool bad_at_once_;
  bool bad_ = false;
};

}  // namespace

Result<InitialRow> read_initial_row(const CfiSection& section, std::uint64_t cie_offset) {
  const auto cie = read_cie(section, cie_offset);
  if (!cie) return fail(cie.error());
  const CfiCompiler::State nothing;
  RowSeeker seeker(section, nothing, nullptr, 0);
  CfiDecoder decoder(section, *cie, 0, seeker);
  const ErrorCode error = decoder.run(cie->instructions_begin, cie->instructions_end);
  return InitialRow{*cie, settle_initial(section, *cie, error, seeker)};
}

CompactRule compact_row(const CfiSection& section, const InitialRow& initial, const Fde& fde, std::uint64_t pc) {
  RowSeeker seeker(section, initial.state, &fde, pc);
  CfiDecoder decoder(section, initial.cie, fde.pc_begin, seeker);
  const ErrorCode error = decoder.run(fde.instructions_begin, fde.instructions_end);
  CompactRule rule = seeker.row();
  if (error != ErrorCode::none || seeker.is_bad()) {
    rule = {};
    rule.kind = CompactKind::interpret;
  }
  rule.origin = section.flavour == CfiFlavour::eh_frame ? StepperId::eh_frame : StepperId::debug_frame;
  return rule;
}

}  // namespace mixstack::unwind
