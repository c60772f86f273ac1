#include "agent/in_process/code_header.h"

#include <algorithm>

#include "agent/in_process/contract_descriptor.h"
#include "agent/in_process/decoded_pieces.h"
#include "agent/in_process/unwind_bytes.h"
#include "engine/unwind/windows/format.h"

namespace mixstack::agent {
namespace {

using unwind::windows::RuntimeFunction;

constexpr std::uint32_t kMostRows = 4096;        // a method has one row and one for each funclet
constexpr Address kLastStubKind = 16;            // smaller values are kinds of stub blocks, not headers
constexpr std::uint16_t kLongestPrologue = 255;  // UNWIND_INFO keeps it in a byte
constexpr std::uint64_t kMostOffset = 4096;

[[nodiscard]] std::vector<RuntimeFunction> rows_at(Arch arch, const MemoryReader& memory, Address header,
                                                   const CodeHeaderLayout& layout) {
  const auto* format = unwind::windows::format_of(arch);
  const auto count = memory.read<std::uint32_t>(header + layout.count);
  std::vector<RuntimeFunction> rows;
  if (format == nullptr || !count || *count > kMostRows) return rows;
  const std::size_t words = format->row_has_end ? 3 : 2;
  std::vector<std::uint32_t> raw(*count * words);
  if (!memory.read_exact(header + layout.rows, std::as_writable_bytes(std::span(raw)))) return rows;
  for (std::size_t i = 0; i < raw.size(); i += words)
    rows.push_back({raw[i], format->row_has_end ? raw[i + 1] : 0, raw[i + words - 1]});
  return rows;
}

/// Whether rows ascend and each lies in one of the method's ranges.
[[nodiscard]] bool are_plausible(const std::vector<RuntimeFunction>& rows, Address base,
                                 const std::vector<AddressRange>& ranges) {
  const auto is_inside = [&](const RuntimeFunction& r) {
    return std::any_of(ranges.begin(), ranges.end(), [&](const AddressRange& range) {
      return range.contains(base + r.begin) && (r.end == 0 || (r.end > r.begin && base + r.end <= range.end));
    });
  };
  for (std::size_t i = 1; i < rows.size(); i++)
    if (rows[i].begin <= rows[i - 1].begin) return false;
  return !rows.empty() && std::all_of(rows.begin(), rows.end(), is_inside);
}

/// Size of the prologue: bytes from the row's begin in which the frame may be incomplete.
[[nodiscard]] std::uint16_t prologue_size(const JitCode& code, Arch arch, const MemoryReader& memory) {
  std::uint16_t size = kLongestPrologue;
  if (const auto* format = unwind::windows::format_of(arch); format->prologue_size != nullptr) {
    const RuntimeFunction row{static_cast<std::uint32_t>(code.range.begin - code.image_base), 0, code.unwind_data};
    size = static_cast<std::uint16_t>(
        format->prologue_size(UnwindBytes(memory, code.image_base), row).value_or(kLongestPrologue));
  }
  return static_cast<std::uint16_t>(std::min<std::uint64_t>(size, code.range.size()));
}

/// The rule that holds after the prologue: the one of a return address at the end of the code.
[[nodiscard]] unwind::CompactRule body_rule(Arch arch, const MemoryReader& memory, Address base,
                                            const RuntimeFunction& row, Address end) {
  const UnwindBytes data(memory, base);
  const auto* format = unwind::windows::format_of(arch);
  const auto rule = format->rule(data, {row, static_cast<std::uint32_t>(end - base), true});
  const auto small = rule ? unwind::compact(*rule, arch) : std::nullopt;
  return small ? *small : unwind::kInterpretedRule;
}

}  // namespace

std::optional<CodeHeaderLayout> CodeHeaderLayout::in(std::string_view json) {
  const std::string_view header = type_in(json, "RealCodeHeader");
  const auto count = number_in(header, "NumUnwindInfos"), rows = number_in(header, "UnwindInfos");
  if (!count || !rows || *count > kMostOffset || *rows > kMostOffset) return std::nullopt;
  return CodeHeaderLayout{static_cast<std::uint32_t>(*count), static_cast<std::uint32_t>(*rows)};
}

std::vector<JitCode> pieces_of(Arch arch, const MemoryReader& memory, const std::optional<CodeHeaderLayout>& layout,
                               const std::vector<AddressRange>& ranges, std::uint64_t method, bool may_be_freed) {
  std::vector<JitCode> pieces;
  if (ranges.empty() || ranges.front().empty()) return pieces;
  const Address start = ranges.front().begin;
  const Address header = layout ? memory.read<Address>(start - sizeof(Address)).value_or(0) : 0;
  std::vector<RuntimeFunction> rows;
  if (header > kLastStubKind) rows = rows_at(arch, memory, header, *layout);
  const Address base = rows.empty() ? 0 : start - rows.front().begin;
  if (!are_plausible(rows, base, ranges)) return decoded_pieces(arch, memory, ranges, method, may_be_freed);
  const auto* format = unwind::windows::format_of(arch);
  const UnwindBytes data(memory, base);
  for (std::size_t i = 0; i < rows.size(); i++) {
    JitCode& code = pieces.emplace_back();
    const RuntimeFunction& row = rows[i];
    const Address begin = base + row.begin;
    const auto range =
        std::find_if(ranges.begin(), ranges.end(), [&](const AddressRange& r) { return r.contains(begin); });
    Address end = row.end != 0 ? base + row.end : range->end;
    if (row.end == 0 && i + 1 < rows.size() && range->contains(base + rows[i + 1].begin))
      end = base + rows[i + 1].begin;
    code.range = {begin, end};
    code.method = method;
    code.may_be_freed = may_be_freed;
    code.image_base = base;
    code.unwind_data = row.unwind_data;
    const bool is_fragment = i != 0 && format->is_fragment(data, row);
    code.part = range != ranges.begin() ? JitPart::cold : i == 0 || is_fragment ? JitPart::body : JitPart::funclet;
    code.prologue = prologue_size(code, arch, memory);
    code.rule = body_rule(arch, memory, base, row, end);
    look_at_prologue(code, arch, memory);
  }
  return pieces;
}

}  // namespace mixstack::agent
