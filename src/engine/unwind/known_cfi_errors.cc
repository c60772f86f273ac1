#include "engine/unwind/known_cfi_errors.h"

#include "base/arch/per_cpu.h"

namespace mixstack::unwind {
namespace {

constexpr std::uint64_t kLargestFunction = 256;  // those that are known have 68 and 120 bytes

[[nodiscard]] bool may_be(std::uint64_t function_size) {
  return function_size <= kLargestFunction && function_size >= kKnownErrorBytes;
}

[[nodiscard]] std::span<const std::byte> start_of(const CfiSection& section, const Fde& fde) {
  if (section.image == nullptr || !*section.image) return {};
  return (*section.image)(fde.pc_begin, kKnownErrorBytes);
}

template <class Rule>
[[nodiscard]] bool may_have_error(Arch arch, const Rule& rule, std::uint64_t function_size) {
  return may_be(function_size) &&
         arch::dispatch(arch, false, [&]<Arch A>() { return KnownCfiErrors<A>::may_be(rule); });
}

template <class Rule>
void correct(Arch arch, Rule& rule, std::span<const std::byte> function_start) {
  arch::dispatch(arch, [&]<Arch A>() {
    if (KnownCfiErrors<A>::is_code(function_start)) KnownCfiErrors<A>::correct(rule);
  });
}

template <Arch A>
void correct_rows(const CfiSection& section, const Fde& fde, std::span<CompiledRow> rows) {
  using Known = KnownCfiErrors<A>;
  if (!Known::may_be_all(rows) || !Known::is_code(start_of(section, fde))) return;
  for (CompiledRow& row : rows)
    if (Known::may_be(row.rule)) Known::correct(row.rule);
}

}  // namespace

void correct_known_errors(const CfiSection& section, const Fde& fde, std::span<CompiledRow> rows) {
  if (!section.corrects_known_errors || !may_be(fde.pc_end - fde.pc_begin)) return;
  arch::dispatch(section.arch, [&]<Arch A>() { correct_rows<A>(section, fde, rows); });
}

void correct_known_errors(const CfiSection& section, const Fde& fde, UnwindRule& rule) {
  if (section.corrects_known_errors && may_have_known_error(section.arch, rule, fde.pc_end - fde.pc_begin))
    correct_known_error(section.arch, rule, start_of(section, fde));
}

bool may_have_known_error(Arch arch, const CompactRule& row, std::uint64_t function_size) {
  return may_have_error(arch, row, function_size);
}

bool may_have_known_error(Arch arch, const UnwindRule& rule, std::uint64_t function_size) {
  return may_have_error(arch, rule, function_size);
}

void correct_known_error(Arch arch, CompactRule& row, std::span<const std::byte> function_start) {
  correct(arch, row, function_start);
}

void correct_known_error(Arch arch, UnwindRule& rule, std::span<const std::byte> function_start) {
  correct(arch, rule, function_start);
}

}  // namespace mixstack::unwind
