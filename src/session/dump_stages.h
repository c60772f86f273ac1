// The list of a dump's stages, with what each needs and what it makes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "session/dump_in_progress.h"

namespace mixstack::session {

/// The things that stages hand on, as a set of bits.
enum class Part : std::uint32_t {
  none = 0,
  captured = 1 << 0,       ///< registers, stacks and mappings of the common instant
  facts_asked = 1 << 1,    ///< the kernel's facts are being read
  late_traces = 1 << 2,    ///< of threads that stopped later
  traces = 1 << 3,         ///< of all others
  used = 1 << 4,           ///< processor and memory
  whole_traces = 1 << 5,   ///< the same without cut stacks
  runtimes = 1 << 6,       ///< their summaries, and providers of names
  managed_names = 1 << 7,  ///< of frames
  objects = 1 << 8,        ///< waits, async methods, heaps, arguments
  facts = 1 << 9,          ///< of the kernel, and names of threads
  freed = 1 << 10,         ///< code that is not there any more, and inlined methods
  names = 1 << 11,         ///< of all frames
  waits = 1 << 12,         ///< outside the runtimes
  checked = 1 << 13,       ///< the dump is done
};
[[nodiscard]] constexpr Part operator|(Part a, Part b) {
  return static_cast<Part>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
[[nodiscard]] constexpr Part operator&(Part a, Part b) {
  return static_cast<Part>(static_cast<std::uint32_t>(a) & static_cast<std::uint32_t>(b));
}
/// As docs/architecture.md has it: "late_traces".
[[nodiscard]] std::string_view part_name(Part one);

struct DumpStage {
  std::string_view name;
  Part needs, makes;
  void (*run)(DumpInProgress& at);
};

/// In the order in which they run.
[[nodiscard]] std::span<const DumpStage> dump_stages();

/// Runs all of them. Errors: those of the capture.
[[nodiscard]] Result<ProcessDump> make_dump(DumpSources sources, const DumpOptions& options);

}  // namespace mixstack::session
