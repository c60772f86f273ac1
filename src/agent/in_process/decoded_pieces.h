// Frames of jitted code from its decoded prologue: the second witness beside the runtime's unwind data, or the only
// one.
#pragma once

#include <vector>

#include "agent/in_process/jit_map.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack::agent {

/// Keeps the first bytes of a piece's code and decodes its prologue: sets the sizes of frame and prologue if it agrees
/// with the rule, and `source`. The rule from the runtime's data stays, whatever the prologue says. Not for signal
/// handlers.
void look_at_prologue(JitCode& code, Arch arch, const MemoryReader& memory);

/// The pieces of one native version of a method of which only its ranges are known, hot part first: its body, its
/// funclets, which have prologues of their own, and its cold parts, which use the body's frame. Code that cannot be
/// decoded gets the rule `interpret` and the source `none`. At most kMostFunclets: the last one reaches to the end of
/// the hot part. Not for signal handlers.
inline constexpr std::size_t kMostFunclets = 256;
[[nodiscard]] std::vector<JitCode> decoded_pieces(Arch arch, const MemoryReader& memory,
                                                  const std::vector<AddressRange>& ranges, std::uint64_t method,
                                                  bool may_be_freed);

}  // namespace mixstack::agent
