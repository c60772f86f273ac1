#include "engine/unwind/windows/amd64/rule.h"

#include <array>
#include <optional>

#include "engine/unwind/windows/amd64/epilogue.h"
#include "engine/unwind/windows/amd64/prologue.h"
#include "engine/unwind/windows/amd64/unwind_info.h"
#include "mixstack/registers.h"

namespace mixstack::unwind::windows {
namespace {

using namespace amd64;

/// Begin of the function at the end of the chain that starts with `function`.
Result<RuntimeFunction> primary_of(RuntimeFunction function, const UnwindDataSource& data) {
  UnwindInfoBuffer buffer;
  for (unsigned n = 0; n <= kChainLimit; n++) {
    const auto info = buffer.load(data, function.unwind_data);
    if (!info) return fail(info.error());
    if (!info->is_chained()) return function;
    function = info->chained();
  }
  return fail(ErrorCode::limit_exceeded, kChainLimit);
}

/// Whether a jump to `target` leaves the function of which `where.function` is a part. A jump to its first byte is a
/// recursive tail call.
bool leaves_function(const Amd64Location& where, const UnwindInfo& info, std::uint32_t target,
                     const UnwindDataSource& data) {
  const RuntimeFunction& own = where.function;
  if (target >= own.begin && target < own.end) return target == own.begin && !info.is_chained();
  const auto primary = info.is_chained() ? primary_of(info.chained(), data) : Result<RuntimeFunction>(own);
  if (!primary) return true;
  if (target >= primary->begin && target < primary->end) return target == primary->begin;
  const auto other = data.function_at(target);
  if (!other) return true;
  const auto other_primary = primary_of(*other, data);
  return !other_primary || other_primary->begin != primary->begin || target == primary->begin;
}

/// Version 1: whether the pc is in an epilogue; then `builder` stands at the return address.
bool undo_epilogue_by_code(const UnwindInfo& info, const Amd64Location& where, std::span<const std::byte> code,
                           const UnwindDataSource& data, RuleBuilder& builder) {
  const auto end = match_epilogue(code, where.pc, info.frame_register(), builder);
  return end && (!end->jump_target || leaves_function(where, info, *end->jump_target, data));
}

Result<UnwindRule> finish(RuleBuilder& builder, Undone undone) {
  if (undone == Undone::machine_frame) {
    return builder.finish_interrupted(builder.sp() + 24, x86_64_reg::rip, StepperId::managed);
  }
  builder.saved(x86_64_reg::rip, builder.sp());
  return builder.finish(builder.sp() + 8, x86_64_reg::rip, StepperId::managed, Trust::certain);
}

Result<UnwindRule> rule_from(const UnwindInfo& info, const Amd64Location& where, std::span<const std::byte> code,
                             const UnwindDataSource& data) {
  if (!where.is_return_address && info.version() < 2) {
    RuleBuilder builder(x86_64_reg::rsp);
    if (undo_epilogue_by_code(info, where, code, data, builder)) return finish(builder, Undone::at_return_address);
  }
  RuleBuilder builder(x86_64_reg::rsp);
  const auto offset = where.is_return_address || info.version() < 2
                          ? std::nullopt
                          : epilogue_offset(info, where.function.end, where.pc);
  const auto undone = offset ? undo_epilogue(info, *offset, data, builder)
                             : undo_prologue(info, where.function, where.pc, data, builder);
  if (!undone) return fail(undone.error());
  return finish(builder, *undone);
}

}  // namespace

Result<UnwindRule> amd64_rule(std::span<const std::byte> unwind_info, const Amd64Location& where,
                              std::span<const std::byte> code, const UnwindDataSource& chain) {
  const auto info = UnwindInfo::parse(unwind_info);
  if (!info) return fail(info.error());
  return rule_from(*info, where, code, chain);
}

Result<UnwindRule> amd64_rule(const UnwindDataSource& data, const Amd64Location& where) {
  UnwindInfoBuffer buffer;
  const auto info = buffer.load(data, where.function.unwind_data);
  if (!info) return fail(info.error());
  std::array<std::byte, kEpilogueBytes> code;
  std::size_t code_size = 0;
  if (!where.is_return_address && info->version() < 2) code_size = data.read_some(where.pc, code).value_or(0);
  return rule_from(*info, where, std::span(code).first(code_size), data);
}

bool amd64_is_fragment(const UnwindDataSource& data, const RuntimeFunction& function) {
  constexpr unsigned kChainInfo = 4;  // UNW_FLAG_CHAININFO, src/coreclr/inc/win64unwind.h
  return (data.number_at<std::uint8_t>(function.unwind_data).value_or(0) >> 3 & kChainInfo) != 0;
}

std::optional<std::uint32_t> amd64_prologue_size(const UnwindDataSource& data, const RuntimeFunction& function) {
  return data.number_at<std::uint8_t>(function.unwind_data + 1);
}

}  // namespace mixstack::unwind::windows
