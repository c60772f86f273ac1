// The notes of a core: what the kernel, gdb or createdump said of the process and of each thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstack/diagnosis.h"
#include "mixstack/target.h"
#include "process/core/own_notes.h"
#include "process/kernel/register_set.h"

namespace mixstack::process {

/// A note as it lies there. Bytes are borrowed.
struct CoreNote {
  std::string_view owner;
  std::uint32_t type = 0;
  std::span<const std::byte> bytes;
};

/// siginfo_t (include/uapi/asm-generic/siginfo.h), of 64-bit targets.
struct SignalInfo {
  std::int32_t signal = 0, code = 0;
  std::uint64_t address = 0;  ///< si_addr, where the signal has one
  std::uint32_t sender = 0;   ///< si_pid, where it has one
};

struct CoreThread {
  ThreadId tid = 0;
  std::int32_t signal = 0;  ///< pr_cursig: what it was handling when the core was written
  Result<RegisterSet> registers = fail(ErrorCode::not_found);
  std::optional<SignalInfo> signal_info;
  std::uint64_t pac_mask = 0;  ///< NT_ARM_PAC_MASK, of code addresses
  std::shared_ptr<const VectorRegisters> vectors;
  std::optional<ThreadNote> own;  ///< of a core that mixstack wrote
  std::optional<LateNote> late;   ///< there alone: it is of another instant than most
};

/// A line of NT_FILE.
struct CoreMapping {
  AddressRange range;
  std::uint64_t file_offset = 0;
  std::string path;
};

/// All that is known from notes. Whatever is missing stays empty.
struct CoreNotes {
  std::vector<CoreThread> threads;  ///< as written: the kernel puts the one that crashed first
  std::vector<CoreMapping> mappings;
  std::vector<Region> all_mappings;  ///< of a core that mixstack wrote: every mapping, with its rights
  std::vector<std::byte> auxv;
  std::optional<SignalInfo> signal_info;  ///< of the process (the kernel writes one, for its first thread)
  std::uint32_t pid = 0;
  char state = '?';
  std::string comm;       ///< pr_fname, at most 15 bytes
  std::string arguments;  ///< pr_psargs, at most 79 bytes
  std::vector<Diagnosis> diagnoses;
};

/// Calls `take` with each of a run of notes. Stops at the first that does not lie wholly inside, and answers how many
/// bytes were used.
std::size_t for_each_note(std::span<const std::byte> notes, const std::function<void(const CoreNote&)>& take);

/// Reads every note it knows and skips the others. Sizes are checked against each structure; a note that is too short
/// is a diagnosis. Layouts: struct elf_prstatus and elf_prpsinfo of include/linux/elfcore.h and fill_files_note of
/// fs/binfmt_elf.c (Linux), as 64-bit targets have them, whatever the host.
[[nodiscard]] CoreNotes read_core_notes(std::span<const std::byte> notes, Arch arch);

}  // namespace mixstack::process
