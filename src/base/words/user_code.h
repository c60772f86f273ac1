// Tells the program's own code from that of .NET and the system.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mixstack/frame.h"
#include "mixstack/symbol.h"

namespace mixstack {

/// Code of the program: a managed method outside of .NET's own assemblies, or code of an image in the program's own
/// folder.
class UserCode {
 public:
  /// Facts about the program. Paths are as the program sees them.
  struct Program {
    std::string executable{};
    std::vector<std::string> command_line{};
    std::string runtime{};  ///< path of its .NET runtime, possibly the program itself; empty: none
    bool is_aot = false;    ///< NativeAOT: all its code is in the program
  };
  explicit UserCode(const Program& program);
  [[nodiscard]] bool is_user(const SymbolInfo& symbol, FrameKind kind) const;

 private:
  std::string folder_;     ///< folder of the program, with the final slash; empty: not known
  std::string framework_;  ///< folder of all shared frameworks; empty: the program brings its own
  std::string runtime_image_;
  bool is_aot_ = false;
};

/// Images of the .NET runtime itself and of what starts it, by their short names.
[[nodiscard]] bool is_runtimes_image(std::string_view name);

}  // namespace mixstack
