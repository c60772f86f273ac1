// Names for frames that a walk found. Names are made after the target runs again, from addresses and facts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mixstack/frame.h"

namespace mixstack {

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
};

/// One way of naming frames: ELF symbols, a runtime's methods, a perf map, a user's JIT.
class NameProvider {
 public:
  virtual ~NameProvider() = default;
  [[nodiscard]] virtual std::string_view provider_name() const = 0;
  /// Nothing when the frame is not this provider's.
  [[nodiscard]] virtual std::optional<SymbolInfo> describe(const Frame& frame) = 0;
};

}  // namespace mixstack
