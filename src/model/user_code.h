// Which code is the program's own, and which .NET's or the system's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mixstack/frame.h"
#include "mixstack/symbol.h"

namespace mixstack {

/// Code of the program: a managed method that no part of .NET itself holds, or code of an image in the program's own
/// folder.
class UserCode {
 public:
  /// What is known of the program. Paths as it sees them.
  struct Program {
    std::string executable{};
    std::vector<std::string> command_line{};
    std::string runtime{};  ///< path of its .NET runtime, which may be the program itself; empty: none
    bool is_aot = false;    ///< NativeAOT: all its code is in the program
  };
  explicit UserCode(const Program& program);
  [[nodiscard]] bool is_user(const SymbolInfo& symbol, FrameKind kind) const;

 private:
  std::string folder_;     ///< of the program, with its slash at the end; empty: not known
  std::string framework_;  ///< folder of the frameworks' files; empty: the program has its own
  std::string runtime_image_;
  bool is_aot_ = false;
};

/// Images of the .NET runtime itself and of what starts it, by their short names.
[[nodiscard]] bool is_runtimes_image(std::string_view name);

}  // namespace mixstack
