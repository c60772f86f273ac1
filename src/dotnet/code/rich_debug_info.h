// Which methods the JIT put into a method's code, where it was told to record that (DOTNET_RichDebugInfo).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mixstack/memory_reader.h"

namespace mixstack::dotnet {

/// Source: src/coreclr/vm/debuginfostore.cpp (DoInlineTreeNodes, DoRichOffsetMappings), src/coreclr/inc/cordebuginfo.h.
struct RichDebugInfo {
  struct Node {
    Address method = 0;    ///< MethodDesc; of the first node the method whose code it is
    std::uint32_t il = 0;  ///< of the call, in the IL of the parent
    std::uint32_t parent = 0;
  };
  /// Code from `native` on, up to the next row, was made from the IL at `il` of a node's method.
  struct Row {
    std::uint32_t native = 0, node = 0;
    std::int32_t il = 0;
  };
  std::vector<Node> nodes;
  std::vector<Row> rows;  ///< ascending by `native`

  static constexpr std::uint32_t kMostBytes = 16 << 20, kMostNodes = 1 << 16, kMostRows = 1 << 20;
};

/// `bytes` are what the flag byte announces. Errors: `malformed`, `truncated`, `limit_exceeded`.
[[nodiscard]] Result<RichDebugInfo> decode_rich_debug_info(std::span<const std::byte> bytes, unsigned pointer_size);

/// A method inlined at a place of code, and where its own code stands there.
struct InlinedMethod {
  Address method = 0;
  std::optional<std::uint32_t> il;  ///< nothing: not known
};
/// Innermost first; the last one is the method that has the code. Empty: nothing is recorded of that place.
[[nodiscard]] std::vector<InlinedMethod> methods_at(const RichDebugInfo& info, std::uint32_t native);

}  // namespace mixstack::dotnet
