// Rules for code outside of images: from a runtime's own tables.
#pragma once

#include "engine/unwind/compact_rule.h"
#include "mixstack/address.h"
#include "mixstack/result.h"

namespace mixstack::unwind {

/// A second producer of rules beside the images' tables, asked for code outside of all images. Implementations: the
/// code manager of a CoreCLR (contracts); later the JIT map of the agent. Belongs to one walking thread.
class RuleSource {
 public:
  virtual ~RuleSource() = default;
  /// The rule at a place. Kind `none`: this source has none; `interpret`: only `general` can express it. The reference
  /// is valid until the source's `generation` changes.
  [[nodiscard]] virtual const CompactRule& compact(CodeAddress pc) = 0;
  /// The same in the general form. Errors: why there is none; `not_found`: no code of this source.
  [[nodiscard]] virtual Result<UnwindRule> general(CodeAddress pc) = 0;
  /// Counts how often all answers became invalid.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }

 protected:
  void begin_generation() { generation_++; }

 private:
  std::uint64_t generation_ = 1;
};

}  // namespace mixstack::unwind
