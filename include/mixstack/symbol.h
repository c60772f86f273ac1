// The name of a frame, as data. One frame may have several: the function its code was made for and those that the
// compiler put into it.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack {

/// Whether a function was put into another one by a compiler, and who says so.
enum class Inlining : std::uint8_t {
  none,               ///< it is the code's own function
  debug_information,  ///< native: DWARF
  runtime,            ///< managed: the JIT recorded it (rich debug information)
  inferred,           ///< managed: one chain of small methods leads to the callee; may be wrong
};

[[nodiscard]] std::string_view to_string(Inlining);

/// What a frame is called. All strings are UTF-8 with control characters escaped and lengths bounded.
struct SymbolInfo {
  std::string name;          ///< as a person reads it; empty when nothing is known but module and offset
  std::string raw_name;      ///< the metadata form, or the linker symbol
  std::string module;        ///< short name: "libc.so.6", "System.Private.CoreLib"
  std::string module_path;   ///< as the target sees it; empty for dynamic code
  std::string build_id;      ///< hex, native images only
  std::uint64_t offset = 0;  ///< into the symbol, or into the module when `name` is empty
  std::string file;          ///< source file, empty when unknown
  std::uint32_t line = 0;    ///< 0 when unknown
  std::string note;          ///< short remark in brackets: "catch", "filter", "stub: precode", "freed while named"
  /// Index, in the same table, of the function into which the compiler put this one; 0: this is the code's own
  /// function.
  std::uint32_t inlined_into = 0;
  Inlining inlining = Inlining::none;  ///< none as long as `inlined_into` is 0
  /// Code outside of images can be freed and its memory used again: the first and the last capture (steady clock) at
  /// which the runtime was asked and said this name. Both 0: the name holds as long as its module is mapped.
  std::chrono::nanoseconds seen_from{0}, seen_until{0};
};

inline constexpr std::size_t kMostLogicalFrames = 256;

/// The functions a frame stands for, innermost first: indices into `symbols`, the first of them `symbol`, the last the
/// function that the code was made for. Never empty, at most 256 (a damaged table ends there).
[[nodiscard]] std::vector<std::uint32_t> logical_frames(std::span<const SymbolInfo> symbols, std::uint32_t symbol);
/// The last of them.
[[nodiscard]] std::uint32_t own_function(std::span<const SymbolInfo> symbols, std::uint32_t symbol);

}  // namespace mixstack
