#include "engine/unwind/windows/arm64/rule.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/system/byte_cursor.h"
#include "engine/unwind/windows/arm64/prologue.h"
#include "engine/unwind/windows/arm64/unwind_info.h"
#include "mixstack/registers.h"

namespace mixstack::unwind::windows {
namespace {

using namespace arm64;

Result<void> load_info(const UnwindDataSource& data, const RuntimeFunction& function, UnwindInfo& info) {
  switch (row_kind(function)) {
    case RowKind::xdata:
      return info.load(data, function.unwind_data);
    case RowKind::packed_function:
    case RowKind::packed_fragment:
      info.expand(function.unwind_data);
      return {};
    case RowKind::forwarded:
      break;
  }
  return fail(ErrorCode::malformed, function.unwind_data);
}

/// Where to begin in the codes.
struct Start {
  std::size_t index = 0;
  std::uint32_t skip = 0;
};

/// The start for `offset` instructions into an epilogue whose codes begin at `index`; nothing behind its end.
std::optional<Start> inside_epilogue(const UnwindInfo& info, std::size_t index, std::uint32_t offset) {
  if (index > info.code_size) return std::nullopt;
  // One more instruction than codes: the return.
  if (offset > instruction_count(info.code_bytes(), index)) return std::nullopt;
  return Start{index, offset};
}

std::optional<Start> single_epilogue(const UnwindInfo& info, std::uint32_t offset) {
  const std::uint32_t size = instruction_count(info.code_bytes(), info.epilogue_index) + 1;
  if (size > info.length || offset < info.length - size) return std::nullopt;
  return inside_epilogue(info, info.epilogue_index, offset - (info.length - size));
}

/// Epilogue scopes are sorted by where they start.
Result<std::optional<Start>> scoped_epilogue(const UnwindDataSource& data, const UnwindInfo& info,
                                             std::uint32_t offset) {
  std::array<std::byte, 256> chunk;
  const std::uint32_t size = info.scope_count * 4;
  for (std::uint32_t done = 0; done < size;) {
    const auto want = std::span(chunk).first(std::min<std::size_t>(chunk.size(), size - done));
    const auto n = data.read_some(info.scopes_rva + done, want);
    if (!n) return fail(n.error());
    if (*n < 4) return fail(ErrorCode::truncated, info.scopes_rva + done);
    for (std::size_t i = 0; i + 4 <= *n; i += 4, done += 4) {
      const auto scope = base::load_at<std::uint32_t>(chunk, i).value_or(0);
      const std::uint32_t start = scope & 0x3ffff;
      if (offset < start) return std::optional<Start>{};
      if (const auto found = inside_epilogue(info, scope >> 22, offset - start)) return std::optional<Start>(found);
    }
  }
  return std::optional<Start>{};
}

Result<Start> find_start(const UnwindDataSource& data, const UnwindInfo& info, std::uint32_t offset,
                         bool is_return_address) {
  // A code byte stands for one instruction at most: behind as many, the offset cannot be in the prologue.
  if (offset < info.code_size) {
    const std::uint32_t prologue = instruction_count(info.code_bytes(), 0);
    if (offset < prologue) return Start{0, prologue - offset};
  }
  if (is_return_address) return Start{};
  if (info.single_epilogue) return single_epilogue(info, offset).value_or(Start{});
  const auto scoped = scoped_epilogue(data, info, offset);
  if (!scoped) return fail(scoped.error());
  return scoped->value_or(Start{});
}

Result<UnwindRule> make_rule(const RuleBuilder& builder, const Outcome& outcome) {
  using namespace aarch64_reg;
  auto rule = outcome.undone == Undone::sp_in_memory
                  ? builder.finish_interrupted(outcome.sp_slot, pc, StepperId::managed)
                  : builder.finish(builder.sp(), lr, StepperId::managed, Trust::certain);
  if (rule && outcome.undone != Undone::sp_in_memory) rule->ra_is_signed = outcome.lr_is_signed;
  if (rule && outcome.undone == Undone::interrupted) rule->is_signal_frame = true;
  if (rule && outcome.lr_is_kept && rule->count < UnwindRule::kMaxRules) {
    rule->rules[rule->count++] = {static_cast<std::uint8_t>(lr), RegisterRuleKind::same_value, 0, 0, 0};
  }
  return rule;
}

/// Follows a forwarding row. Its code stands for the first instruction of the function it names.
Result<FunctionLocation> resolve(const UnwindDataSource& data, const FunctionLocation& where) {
  if (row_kind(where.function) != RowKind::forwarded) return where;
  if ((where.function.unwind_data & 4) != 0) return fail(ErrorCode::unsupported, where.function.unwind_data);
  std::array<std::byte, 8> row;
  const auto n = data.read_some(where.function.unwind_data - 3, row);
  if (!n) return fail(n.error());
  if (*n < row.size()) return fail(ErrorCode::truncated, where.function.unwind_data);
  base::ByteCursor cursor(row);
  FunctionLocation target = where;
  target.function.begin = cursor.u32();
  target.function.unwind_data = cursor.u32();
  target.pc = target.function.begin;
  return target;
}

}  // namespace

Result<UnwindRule> arm64_rule(const UnwindDataSource& data, const Arm64Location& location) {
  const auto where = resolve(data, location);
  if (!where) return fail(where.error());
  UnwindInfo info;
  const auto loaded = load_info(data, where->function, info);
  if (!loaded) return fail(loaded.error());
  const std::uint32_t offset = (where->pc - where->function.begin) / 4;
  const auto start = find_start(data, info, offset, where->is_return_address);
  if (!start) return fail(start.error());
  RuleBuilder builder(aarch64_reg::sp);
  const auto outcome = undo_codes(info.code_bytes(), start->index, start->skip, builder);
  if (!outcome) return fail(outcome.error());
  return make_rule(builder, *outcome);
}

Result<UnwindRule> arm64_rule(std::span<const std::byte> xdata, const Arm64Location& where) {
  return arm64_rule(MappedUnwindData(xdata, where.function.unwind_data), where);
}

bool arm64_is_fragment(const UnwindDataSource& data, const RuntimeFunction& function) {
  if ((function.unwind_data & 3) != 0) return false;  // packed
  const auto header = data.number_at<std::uint32_t>(function.unwind_data);
  if (!header) return false;
  std::uint32_t epilogues = *header >> 22 & 0x1f;
  std::uint32_t codes = function.unwind_data + 4;
  if (epilogues == 0 && *header >> 27 == 0) {
    const auto extended = data.number_at<std::uint32_t>(codes);
    if (!extended) return false;
    epilogues = *extended & 0xffff;
    codes += 4;
  }
  const bool has_one_epilogue = (*header >> 21 & 1) != 0;
  if (!has_one_epilogue) codes += epilogues * 4;
  constexpr std::uint8_t kEndC = 0xe5;
  return data.number_at<std::uint8_t>(codes) == kEndC;
}

Result<std::uint32_t> arm64_function_length(const UnwindDataSource& data, const RuntimeFunction& function) {
  const auto where = resolve(data, {function, function.begin, false});
  if (!where) return fail(where.error());
  const std::uint32_t word = where->function.unwind_data;
  if (row_kind(where->function) == RowKind::forwarded) return fail(ErrorCode::malformed, word);
  if (row_kind(where->function) != RowKind::xdata) return (word >> 2 & 0x7ff) * 4;
  std::array<std::byte, 4> header;
  const auto n = data.read_some(word, header);
  if (!n) return fail(n.error());
  if (*n < header.size()) return fail(ErrorCode::truncated, word);
  const auto bits = base::load_at<std::uint32_t>(header, 0).value_or(0);
  if ((bits >> 18 & 3) != 0) return fail(ErrorCode::unsupported, bits >> 18 & 3);
  return (bits & 0x3ffff) * 4;
}

}  // namespace mixstack::unwind::windows
