// Notes for a core that we write.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mixstack/target.h"
#include "process/pack/copying_target.h"

namespace mixstack::pack {

/// Facts of the process for its notes, beside the threads.
struct ProcessNotes {
  std::uint32_t pid = 0;
  std::string comm;
  std::string arguments;        ///< at most 79 bytes count
  std::vector<std::byte> auxv;  ///< without entries that tell of the environment, see `public_auxv`
};

/// An auxiliary vector without the entries that point into the environment's part of the stack or to random bytes
/// (AT_RANDOM, AT_EXECFN, AT_PLATFORM, AT_BASE_PLATFORM).
[[nodiscard]] std::vector<std::byte> public_auxv(std::span<const std::byte> auxv);

/// The notes of a captured process: NT_PRPSINFO, NT_AUXV, NT_FILE, all mappings, and for each thread NT_PRSTATUS and
/// our own note. The main thread comes first, as in the kernel's cores. Layouts: those that `process::read_core_notes`
/// reads.
[[nodiscard]] std::vector<std::byte> notes_of(const ProcessNotes& process, PackedProcess& recording);
/// The notes of another core, unchanged but for the command line, the auxiliary vector and the mappings.
[[nodiscard]] std::vector<std::byte> notes_of(const ProcessNotes& process, std::span<const std::byte> notes,
                                              std::span<const Region> regions);

}  // namespace mixstack::pack
