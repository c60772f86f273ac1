// The IL of a method (ECMA-335 II.25.4 and III): its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "mixstack/result.h"

namespace mixstack::dotnet::names {

struct IlCall {
  std::uint32_t offset = 0;
  std::uint32_t token = 0;
  bool is_virtual = false;  ///< callvirt, or calli, which has no token
  bool is_last = false;     ///< nothing but the return follows: the JIT may make a jump of it
};

/// A body by its header. All input is hostile.
struct IlBody {
  static constexpr std::uint32_t kMaxHeader = 12, kMaxCode = 1 << 20;
  std::uint32_t header_size = 0;
  std::uint32_t code_size = 0;
  bool has_handlers = false;
};
/// `bytes`: the first ones, kMaxHeader or fewer. Errors: `truncated`, `malformed`, `limit_exceeded`.
[[nodiscard]] Result<IlBody> read_il_header(std::span<const std::byte> bytes);

/// The kinds of handlers of a method, by the data sections behind its code (ECMA-335 II.25.4.5).
struct IlHandlers {
  static constexpr std::uint32_t kMaxSections = 16, kMaxClauses = 4096, kHeader = 4;
  bool has_finally = false, has_fault = false;
};
/// One section's header, the kHeader bytes before its clauses.
struct IlSection {
  bool is_of_handlers = false, is_fat = false, has_next = false;
  std::uint32_t size = 0;  ///< with the header
};
/// Errors: `truncated`, `malformed` (a size that does not hold its header), `limit_exceeded`.
[[nodiscard]] Result<IlSection> read_il_section(std::span<const std::byte> header);
/// Adds the kinds of the clauses that follow a section's header.
void add_il_handlers(const IlSection& section, std::span<const std::byte> clauses, IlHandlers& handlers);

/// The calls of a method's code: call, callvirt, newobj, calli, in order. Errors: `truncated`, `malformed` (no opcode).
[[nodiscard]] Result<std::vector<IlCall>> read_il_calls(std::span<const std::byte> code);

/// The tokens that a method's code calls, makes objects and delegates of, reads static fields of, and clears values of
/// (call, callvirt, newobj, ldftn, ldsfld, initobj), in order. Errors as above.
[[nodiscard]] Result<std::vector<std::uint32_t>> read_il_tokens(std::span<const std::byte> code);

}  // namespace mixstack::dotnet::names
