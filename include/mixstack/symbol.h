// The name of a frame, as data. A frame may have several: the function that has the code, and those inlined into it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack {

/// Whether a function was inlined by a compiler, and the source of that knowledge.
enum class Inlining : std::uint8_t {
  none,               ///< not inlined: the code's own function
  debug_information,  ///< native: DWARF
  runtime,            ///< managed: the JIT recorded it (rich debug information)
  inferred,           ///< managed: the only chain of small methods that leads to the callee; may be wrong
};

[[nodiscard]] std::string_view to_string(Inlining);

/// The name of a frame. All strings are UTF-8 with control characters escaped and lengths bounded.
struct SymbolInfo {
  std::string name;          ///< as shown to people; empty: only module and offset are known
  std::string raw_name;      ///< the metadata form, or the linker symbol
  std::string module;        ///< short name: "libc.so.6", "System.Private.CoreLib"
  std::string module_path;   ///< as the target sees it; empty for dynamic code
  std::string build_id;      ///< hex, native images only
  std::uint64_t offset = 0;  ///< into the symbol, or into the module when `name` is empty
  std::string file;          ///< source file; empty: not known
  std::uint32_t line = 0;    ///< 0: not known
  std::string note;          ///< short remark in brackets: "catch", "filter", "stub: precode", "freed while named"
  /// Index, in the same table, of the function into which this one was inlined; 0: this is the code's own function.
  std::uint32_t inlined_into = 0;
  Inlining inlining = Inlining::none;  ///< none if `inlined_into` is 0
  /// Code outside of images can be freed and its memory reused: the first and last capture (steady clock) for which the
  /// runtime gave this name. Both 0: the name holds as long as its module is mapped.
  std::chrono::nanoseconds seen_from{0}, seen_until{0};
};

inline constexpr std::size_t kMostLogicalFrames = 256;

/// The functions of a frame, innermost first: indices into `symbols`, the first is `symbol`, the last the function that
/// has the code. Never empty, at most kMostLogicalFrames (a damaged table ends there).
[[nodiscard]] std::vector<std::uint32_t> logical_frames(std::span<const SymbolInfo> symbols, std::uint32_t symbol);
/// The last of `logical_frames`.
[[nodiscard]] std::uint32_t own_function(std::span<const SymbolInfo> symbols, std::uint32_t symbol);

}  // namespace mixstack
