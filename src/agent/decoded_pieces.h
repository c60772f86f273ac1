// Frames of jitted code from the code itself: a second witness where the runtime's data is read, the only one
// elsewhere.
#pragma once

#include <vector>

#include "agent/jit_map.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack::agent {

/// Keeps the first bytes of a piece's code and decodes its prologue: fills in size of frame and prologue, and who says
/// so. A piece whose rule the runtime's data gave keeps it, whatever the prologue says. Not for signal handlers.
void look_at_prologue(JitCode& code, Arch arch, const MemoryReader& memory);

/// The pieces of one native version of a method of which only its ranges are known, hot part first: its body, its
/// funclets, which have prologues of their own, and its cold parts, which go on in the body's frame. Of code that
/// cannot be decoded the rule is `interpret` and the source `none`. At most kMostFunclets; what lies behind is taken to
/// be the last of them. Not for signal handlers.
inline constexpr std::size_t kMostFunclets = 256;
[[nodiscard]] std::vector<JitCode> decoded_pieces(Arch arch, const MemoryReader& memory,
                                                  const std::vector<AddressRange>& ranges, std::uint64_t method,
                                                  bool may_be_freed);

}  // namespace mixstack::agent
