#include "dotnet/code/exception_clauses.h"

#include <array>

namespace mixstack::dotnet {
namespace {

// CORINFO_EH_CLAUSE_FLAGS, src/coreclr/inc/corinfo.h. Others say how the clause came to be.
constexpr std::uint32_t kFilter = 1, kFinally = 2, kFault = 4;

using Words = std::array<std::uint32_t, kClauseSize / 4>;

Result<ExceptionClause> read_clause(const MemoryReader& reader, Address at, std::uint32_t stride) {
  const auto words = reader.read<Words>(at);
  if (!words) return fail(words.error());
  const auto& w = *words;
  ExceptionClause clause{w[0], w[1], w[2], w[3], w[4], w[5]};
  if (stride == kClauseSize) return clause;
  const auto filter = reader.read<std::uint32_t>(at + kClauseSize);  // aligned like the pointer it may be
  if (!filter) return fail(filter.error());
  clause.filter = *filter;
  return clause;
}

// EE_ILEXCEPTION, src/coreclr/vm/eexcp.h: a section header of ECMA-335 II.25.4.5 before the clauses, and before that
// their number in a word (EEJitManager::allocEHInfo, src/coreclr/vm/codeman.cpp). The header says the number, too.
Result<ClauseTable> clauses_of(const RuntimeMemory& memory, Address code_header) {
  const auto info = memory.pointer(code_header, memory.layouts().real_code_header.eh_info);
  if (!info) return fail(info.error());
  if (*info == 0) return fail(ErrorCode::not_found, code_header);
  const unsigned word = memory.pointer_size();
  const auto count = memory.reader().read<std::uint32_t>(*info - word);
  const auto header = memory.reader().read<std::uint32_t>(*info);
  if (!count || !header) return fail(ErrorCode::unreadable_memory, *info);
  const ClauseTable table{*info + word, *count, word == 8 ? kClauseSizeWithPointer : kClauseSize};
  if (table.count > ClauseTable::kMaxClauses) return fail(ErrorCode::limit_exceeded, table.count);
  constexpr std::uint32_t kFatFormat = 0x40;
  if ((*header & 0xff) != kFatFormat || *header >> 8 != table.count * table.stride)
    return fail(ErrorCode::malformed, *info);
  return table;
}

}  // namespace

FuncletKind funclet_kind(const ExceptionClause& clause, std::uint32_t offset) {
  const bool has_filter = (clause.flags & kFilter) != 0;
  if (has_filter && clause.filter == offset) return FuncletKind::filter;
  if (clause.handler_begin != offset) return FuncletKind::none;
  if (has_filter) return FuncletKind::catch_handler;
  if ((clause.flags & kFinally) != 0) return FuncletKind::finally;
  return (clause.flags & kFault) != 0 ? FuncletKind::fault : FuncletKind::catch_handler;
}

Result<FuncletKind> funclet_kind(const MemoryReader& reader, const ClauseTable& table, std::uint32_t offset) {
  if (table.count > ClauseTable::kMaxClauses) return fail(ErrorCode::limit_exceeded, table.count);
  for (std::uint32_t n = 0; n < table.count; n++) {
    const auto clause = read_clause(reader, table.begin + Address{n} * table.stride, table.stride);
    if (!clause) return fail(clause.error());
    if (const FuncletKind kind = funclet_kind(*clause, offset); kind != FuncletKind::none) return kind;
  }
  return fail(ErrorCode::not_found, offset);
}

FuncletKind jit_funclet_kind(const RuntimeMemory& memory, Address code_header, std::uint32_t offset) {
  const auto table = clauses_of(memory, code_header);
  if (!table) return FuncletKind::unknown;
  return funclet_kind(memory.reader(), *table, offset).value_or(FuncletKind::unknown);
}

}  // namespace mixstack::dotnet
