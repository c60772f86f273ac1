// One source of unwind rules for all managed code in our own process.
#pragma once

#include "agent/in_process/image_list.h"
#include "agent/in_process/jit_map.h"
#include "engine/self_walk/code_rules.h"

namespace mixstack::agent {

/// Rules come from the map for jitted code, and from the image's rows for precompiled code. Without the runtime's
/// unwind data a rule comes from the decoded prologue, with trust `prologue`. Borrows map and list.
class ManagedCode final : public self_walk::CodeRules {
 public:
  ManagedCode(Arch arch, const JitMap& jitted, const ImageList& images)
      : arch_(arch), jitted_(jitted), images_(images) {}

  [[nodiscard]] bool compact(CodeAddress pc, const MemoryReader& memory, Answer& out) const noexcept override;
  [[nodiscard]] Result<unwind::UnwindRule> general(CodeAddress pc, const MemoryReader& memory) const noexcept override;
  [[nodiscard]] bool knows(CodeAddress pc, const MemoryReader& memory) const noexcept override;

 private:
  [[nodiscard]] Result<unwind::UnwindRule> of_image(const CodeImage& image, CodeAddress pc,
                                                    const MemoryReader& memory) const;

  Arch arch_;
  const JitMap& jitted_;
  const ImageList& images_;
};

}  // namespace mixstack::agent
