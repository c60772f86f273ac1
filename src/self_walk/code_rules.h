// Rules of code that no image the dynamic linker knows describes.
#pragma once

#include "mixstack/address.h"
#include "mixstack/memory_reader.h"
#include "mixstack/result.h"
#include "unwind/compact_rule.h"

namespace mixstack::self_walk {

/// Asked in signal handlers for code that was made at run time; so it takes no lock, allocates nothing and reads other
/// memory through `memory` only. Lives as long as the walker. When code is not found any more and before its place may
/// be another's, SelfWalker::forget is to be called.
class CodeRules {
 public:
  static constexpr std::uint32_t kUnknownOwner = ~std::uint32_t{0};  ///< the rule was not compact: ask by address
  struct Answer {
    unwind::CompactRule rule;
    std::uint32_t owner = 0;  ///< what walks answer for frames of this code (SelfWalker::walk); 0: nothing
  };
  virtual ~CodeRules() = default;
  /// The small rule at a place, which walks keep until SelfWalker::forget. False: there is none; `general` says whether
  /// it is known at all.
  [[nodiscard]] virtual bool compact(CodeAddress pc, const MemoryReader& memory, Answer& out) const noexcept = 0;
  /// Errors: why there is none; `not_found` where no such code is known.
  [[nodiscard]] virtual Result<unwind::UnwindRule> general(CodeAddress pc,
                                                           const MemoryReader& memory) const noexcept = 0;
  /// Whether code of a method lies there.
  [[nodiscard]] virtual bool knows(CodeAddress pc, const MemoryReader& memory) const noexcept = 0;
};

}  // namespace mixstack::self_walk
