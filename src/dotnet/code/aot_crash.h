// The crash record that a NativeAOT program leaves in its memory when it ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mixstack::dotnet {

/// The runtime's crash record (System/CrashInfo.cs), in JSON; the runtime writes it for readers of the core.
struct AotCrash {
  struct Exception {
    std::string type, message;
    std::vector<std::string> stack;  ///< methods, innermost first, as the runtime calls them
  };
  enum class Reason : std::uint8_t { unknown, unhandled_exception, fail_fast, internal_error };
  Reason reason = Reason::unknown;
  std::uint32_t thread = 0;  ///< in the program's own pid namespace; 0: not told
  std::string message;
  std::vector<Exception> exceptions;  ///< outermost first; each is the inner exception of the one before
};

inline constexpr std::size_t kMostCrashRecord = 64 << 10;

/// False, and `out` unchanged, where the text is no such record.
[[nodiscard]] bool parse_aot_crash(std::string_view json, AotCrash& out);

}  // namespace mixstack::dotnet
