// Which IL the native code of a method was made from: the bounds that the JIT records (cDebugInfo).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "dotnet/code/debug_info.h"
#include "dotnet/code/rich_debug_info.h"
#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// Code from `native` on, up to the next row, was made from the IL at `il`. Ascending by `native`.
struct IlMapRow {
  static constexpr std::int32_t kNoMapping = -1, kProlog = -2, kEpilog = -3;

  std::uint32_t native = 0;  ///< from the start of the method's code
  std::int32_t il = 0;
  friend bool operator==(const IlMapRow&, const IlMapRow&) = default;
};

/// Decodes the debug information at `blob`.
/// Errors: those of reading, `malformed` (not ascending, wider than any code), `limit_exceeded`.
/// Source: src/coreclr/vm/debuginfostore.cpp (CompressDebugInfo), src/coreclr/inc/cordebuginfo.h.
[[nodiscard]] Result<std::vector<IlMapRow>> read_il_map(const MemoryReader& memory, Address blob,
                                                        DebugInfoWriter writer, DebugInfoForm form);

/// The methods that the JIT inlined, from the same information. `not_found`: not recorded.
[[nodiscard]] Result<RichDebugInfo> read_rich_debug_info(const MemoryReader& memory, Address blob,
                                                         unsigned pointer_size, DebugInfoForm form);

/// The IL offset of the code at `native`; of a prologue 0, of code without IL the last one before it. (The runtime's
/// own stack traces take 0 for the latter, which is the first line of the method.) Nothing where there is none.
[[nodiscard]] std::optional<std::uint32_t> il_offset_at(std::span<const IlMapRow> map, std::uint32_t native);

/// Whether the code at `native` is neither of a prologue nor of an epilogue.
[[nodiscard]] bool is_body(std::span<const IlMapRow> map, std::uint32_t native);
/// Whether an epilogue begins there.
[[nodiscard]] bool begins_epilogue(std::span<const IlMapRow> map, std::uint32_t native);

}  // namespace mixstack::dotnet
