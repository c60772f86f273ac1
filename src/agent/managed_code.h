// All code of the runtime in our own process, as one source of rules.
#pragma once

#include "agent/image_list.h"
#include "agent/jit_map.h"
#include "self_walk/code_rules.h"

namespace mixstack::agent {

/// Jitted code by the map, precompiled code by its image's rows. Of jitted code for which the runtime's unwind data was
/// not found, by its decoded prologue: such rules have trust `prologue`. Borrows both.
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
