// The name of a frame, as data.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace mixstack
