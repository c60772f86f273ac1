// Compiles one FDE into rows of compact rules.
#pragma once

#include <array>
#include <vector>

#include "engine/unwind/cfi_section.h"
#include "engine/unwind/compact_rule.h"

namespace mixstack::unwind {

/// `rule` holds from `offset` (in the FDE's code) on. Ascending offsets, the first one 0.
struct CompiledRow {
  std::uint32_t offset = 0;
  CompactRule rule;
};

/// Compiles FDEs of one section. Remembers the last CIE, as neighbours share it. Not thread-safe.
class CfiCompiler {
 public:
  explicit CfiCompiler(const CfiSection& section) : section_(section) {}

  /// Rows of the FDE at `entry`; rows that do not fit, and those behind broken instructions, get kind `interpret`.
  /// The result is valid until the next call. Errors where the entry itself cannot be read or spans 4 GiB or more.
  struct Compiled {
    Fde fde;
    std::span<const CompiledRow> rows;
  };
  [[nodiscard]] Result<Compiled> compile(std::uint64_t fde_offset);

  /// The row state the decoder drives: see cfi_program.h.
  struct State {
    CompactRule rule;
    std::uint64_t odd = 0;  ///< registers (one bit each) whose rule has no compact form
    bool cfa_is_odd = true;
    bool ra_undefined = false;
  };

 private:
  struct CachedCie {
    bool valid = false;
    Cie cie;
    State initial;
  };
  [[nodiscard]] Result<const CachedCie*> cie_at(std::uint64_t offset);

  CfiSection section_;
  std::array<CachedCie, 4> cies_;
  std::vector<CompiledRow> rows_;
  std::vector<State> remembered_;
};

}  // namespace mixstack::unwind
