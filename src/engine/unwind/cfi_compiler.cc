#include "engine/unwind/cfi_compiler.h"

#include <limits>

#include "engine/unwind/cfi_program.h"
#include "engine/unwind/cfi_row_state.h"
#include "engine/unwind/known_cfi_errors.h"

namespace mixstack::unwind {
namespace {

constexpr std::size_t kRememberLimit = 64;  // as the interpreter's

/// Remembered states in a vector that is kept from function to function.
class KeptStack {
 public:
  explicit KeptStack(std::vector<CfiCompiler::State>& states) : states_(states) { states_.clear(); }
  bool push(const CfiCompiler::State& state) {
    if (states_.size() >= kRememberLimit) return false;
    states_.push_back(state);
    return true;
  }
  bool pop(CfiCompiler::State& state) {
    if (states_.empty()) return false;
    state = states_.back();
    states_.pop_back();
    return true;
  }

 private:
  std::vector<CfiCompiler::State>& states_;
};

/// The state behind CfiDecoder that writes compact rows.
class Emitter : public CompactRowState<KeptStack> {
 public:
  Emitter(const CfiSection& section, const State& initial, const Fde* fde, std::vector<CompiledRow>& rows,
          std::vector<State>& remembered)
      : CompactRowState(section, initial, KeptStack(remembered)),
        fde_(fde),
        location_(fde != nullptr ? fde->pc_begin : 0),
        rows_(rows) {}

  [[nodiscard]] bool is_bad() const { return bad_; }

  bool advance(std::uint64_t delta) { return set_location(location_ + delta); }
  bool set_location(std::uint64_t address) {
    if (fde_ == nullptr || address < location_) {
      bad_ = true;
      return false;
    }
    if (address == location_) return true;
    emit();
    location_ = address;
    return location_ < fde_->pc_end;
  }
  /// The row from the current location to the end, or a mark that nothing is known from here on.
  void finish(bool is_valid) {
    if (location_ >= fde_->pc_end && !bad_) return;
    if (is_valid && !bad_) return emit();
    spoil();
    emit();
  }

 private:
  void emit() {
    const std::uint64_t offset = location_ - fde_->pc_begin;
    if (offset > std::numeric_limits<std::uint32_t>::max()) return;
    const CompactRule rule = current();
    if (!rows_.empty() && rows_.back().rule.same_rule(rule)) return;
    rows_.push_back({static_cast<std::uint32_t>(offset), rule});
  }

  const Fde* fde_;
  std::uint64_t location_;
  std::vector<CompiledRow>& rows_;
  bool bad_ = false;
};

}  // namespace

Result<const CfiCompiler::CachedCie*> CfiCompiler::cie_at(std::uint64_t offset) {
  CachedCie& cached = cies_[offset / 8 % cies_.size()];
  if (cached.valid && cached.cie.offset == offset) return &cached;
  cached.valid = false;
  const auto cie = read_cie(section_, offset);
  if (!cie) return fail(cie.error());
  cached.cie = *cie;
  cached.initial = {};
  Emitter emitter(section_, cached.initial, nullptr, rows_, remembered_);
  CfiDecoder decoder(section_, cached.cie, 0, emitter);
  const ErrorCode error = decoder.run(cie->instructions_begin, cie->instructions_end);
  cached.initial = settle_initial(section_, *cie, error, emitter);
  cached.valid = true;
  return &cached;
}

Result<CfiCompiler::Compiled> CfiCompiler::compile(std::uint64_t fde_offset) {
  const auto entry = read_entry(section_, fde_offset);
  if (!entry) return fail(entry.error());
  if (entry->is_terminator || entry->is_cie) return fail(ErrorCode::malformed, fde_offset);
  const auto cie = cie_at(entry->cie_offset);
  if (!cie) return fail(cie.error());
  const auto fde = read_fde(section_, *entry, (*cie)->cie);
  if (!fde) return fail(fde.error());
  if (fde->pc_end - fde->pc_begin > std::numeric_limits<std::uint32_t>::max())
    return fail(ErrorCode::limit_exceeded, fde_offset);
  rows_.clear();
  Emitter emitter(section_, (*cie)->initial, &*fde, rows_, remembered_);
  CfiDecoder decoder(section_, (*cie)->cie, fde->pc_begin, emitter);
  emitter.finish(decoder.run(fde->instructions_begin, fde->instructions_end) == ErrorCode::none);
  const auto origin = section_.flavour == CfiFlavour::eh_frame ? StepperId::eh_frame : StepperId::debug_frame;
  for (auto& row : rows_) row.rule.origin = origin;
  correct_known_errors(section_, *fde, rows_);
  return Compiled{*fde, rows_};
}

}  // namespace mixstack::unwind
