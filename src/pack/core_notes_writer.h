// Notes for a core that we write.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "mixstack/target.h"
#include "pack/recording_target.h"

namespace mixstack::pack {

/// What notes say of the process beside its threads.
struct ProcessNotes {
  std::uint32_t pid = 0;
  std::string comm;
  std::string arguments;        ///< at most 79 bytes count
  std::vector<std::byte> auxv;  ///< without what tells of the environment, see `public_auxv`
};

/// An auxiliary vector without the entries that point into the environment's part of the stack or to random bytes
/// (AT_RANDOM, AT_EXECFN, AT_PLATFORM, AT_BASE_PLATFORM).
[[nodiscard]] std::vector<std::byte> public_auxv(std::span<const std::byte> auxv);

/// Of a process that was captured: NT_PRPSINFO, NT_AUXV, NT_FILE, all mappings, and for each thread NT_PRSTATUS and
/// what only our note has room for. The main thread first, as the kernel has it. Layouts: those that
/// `target::read_core_notes` reads.
[[nodiscard]] std::vector<std::byte> notes_of(const ProcessNotes& process, Recording& recording);
/// Those of another core, as they are but for the command line, the auxiliary vector and the mappings.
[[nodiscard]] std::vector<std::byte> notes_of(const ProcessNotes& process, std::span<const std::byte> notes,
                                              std::span<const Region> regions);

}  // namespace mixstack::pack
