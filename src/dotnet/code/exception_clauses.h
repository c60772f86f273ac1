// The exception clauses of compiled methods: which handler a funclet is.
#pragma once

#include "dotnet/contracts/runtime_memory.h"
#include "mixstack/frame.h"

namespace mixstack::dotnet {

/// One clause, as the tables of precompiled and of jitted code both have it. Offsets are from the method's start.
/// Sources: CORCOMPILE_EXCEPTION_CLAUSE, src/coreclr/inc/corcompile.h; EE_ILEXCEPTION_CLAUSE, src/coreclr/vm/eexcp.h.
struct ExceptionClause {
  std::uint32_t flags = 0;
  std::uint32_t try_begin = 0, try_end = 0;
  std::uint32_t handler_begin = 0, handler_end = 0;
  std::uint32_t filter = 0;  ///< where flags say so; else what is caught
};

/// Which handler of the clause begins at `offset`; `none`: neither of them.
[[nodiscard]] FuncletKind funclet_kind(const ExceptionClause& clause, std::uint32_t offset);

/// Clauses in a row.
struct ClauseTable {
  static constexpr std::uint32_t kMaxClauses = 4096;
  Address begin = 0;
  std::uint32_t count = 0;
  std::uint32_t stride = 0;  ///< bytes of one, of which the last 4 (24 bytes) or the first 4 of the last 8 are `filter`
};
inline constexpr std::uint32_t kClauseSize = 24, kClauseSizeWithPointer = 32;

/// `not_found`: no clause has a handler that begins there. `limit_exceeded`, errors of reading.
[[nodiscard]] Result<FuncletKind> funclet_kind(const MemoryReader& reader, const ClauseTable& table,
                                               std::uint32_t offset);

/// Which handler of a jitted method its funclet at `offset` is; `unknown` where its clauses do not say so.
[[nodiscard]] FuncletKind jit_funclet_kind(const RuntimeMemory& memory, Address code_header, std::uint32_t offset);

}  // namespace mixstack::dotnet
