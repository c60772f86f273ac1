// Rules of code outside of all images that the dynamic linker knows.
#pragma once

#include "engine/unwind/compact_rule.h"
#include "mixstack/address.h"
#include "mixstack/memory_reader.h"
#include "mixstack/result.h"

namespace mixstack::self_walk {

/// Called in signal handlers for code generated at run time: takes no lock, allocates nothing and reads other memory
/// through `memory` only. Lives as long as the walker. After code can no longer be found, and before its place may be
/// reused, call SelfWalker::forget.
class CodeRules {
 public:
  static constexpr std::uint32_t kUnknownOwner = ~std::uint32_t{0};  ///< the rule was not compact: ask by address
  struct Answer {
    unwind::CompactRule rule;
    std::uint32_t owner = 0;  ///< owner that walks report for frames of this code (SelfWalker::walk); 0: none
  };
  virtual ~CodeRules() = default;
  /// The compact rule at a place, which walks cache until SelfWalker::forget. False: there is none; `general` tells
  /// whether the code is known at all.
  [[nodiscard]] virtual bool compact(CodeAddress pc, const MemoryReader& memory, Answer& out) const noexcept = 0;
  /// Errors: why there is none; `not_found`: the code is not known.
  [[nodiscard]] virtual Result<unwind::UnwindRule> general(CodeAddress pc,
                                                           const MemoryReader& memory) const noexcept = 0;
  /// Whether it is code of a method.
  [[nodiscard]] virtual bool knows(CodeAddress pc, const MemoryReader& memory) const noexcept = 0;
};

}  // namespace mixstack::self_walk
