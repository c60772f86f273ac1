// A dump while it is made: what its stages share, and the stages themselves (their order: dump_stages.h).
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/system/beside.h"
#include "dotnet/runtime/freed_code.h"
#include "engine/dwarf/dwarf_symbols.h"
#include "engine/images/file_budget.h"
#include "engine/symbols/elf_symbols.h"
#include "engine/symbols/symbolizer.h"
#include "mixstack/session.h"
#include "process/peers/other_ends.h"
#include "session/async_callers.h"
#include "session/capture_walk.h"
#include "session/generated_code.h"
#include "session/inlined_frames.h"
#include "session/symbol_sources.h"

namespace mixstack::session {

/// The parts that a dump has from its session; the references outlive it.
struct DumpSources {
  Target& target;
  WorkerPool::Lease worker;
  /// The generation of facts that mappings are of, read anew where they have changed.
  std::function<std::shared_ptr<const ProcessGeneration>(const std::shared_ptr<const std::vector<Region>>&)> follow;
  const StepperChain& steppers;
  std::span<const std::shared_ptr<NameProvider>> providers;
  std::shared_ptr<symbols::SymbolTables> symbol_tables;
  std::shared_ptr<symbols::LineTables> line_tables;  ///< null: not wanted
  walk::Tables unwind_tables;
  SharedFinder finder;  ///< null: not wanted
  images::PathOpener open_path;
  const images::FileBudget& file_budget;
  bool reads_types_of_heaps = false;
};

/// Facts of the capture's own threads, then of those that were late.
using FactsByThread = std::vector<std::vector<ThreadFacts>>;

/// Filled in by the stages, in the order of its members.
struct DumpInProgress {
  DumpInProgress(DumpSources sources, const DumpOptions& wanted) : from(std::move(sources)), options(wanted) {
    options.walk.keep_registers |= options.arguments;
  }
  DumpInProgress(const DumpInProgress&) = delete;
  DumpInProgress& operator=(const DumpInProgress&) = delete;

  [[nodiscard]] Worker& worker() const { return *from.worker; }
  [[nodiscard]] std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes() const {
    return worker().runtimes();
  }
  /// A core: nothing changes any more.
  [[nodiscard]] bool is_frozen() const { return capture.frozen != nullptr; }
  [[nodiscard]] const std::vector<Region>& regions() const { return *capture.regions; }

  DumpSources from;
  DumpOptions options;
  std::optional<Error> failure;  ///< ends the dump

  Capture capture;
  std::chrono::steady_clock::time_point captured_at;
  ProcessDump dump;
  std::optional<symbols::ElfSymbols> elf;
  std::optional<GeneratedNames> generated;
  std::optional<CaptureWalk> walk;  ///< of the common instant
  std::vector<std::shared_ptr<NameProvider>> providers;
  std::optional<symbols::DwarfSymbols> native;
  std::optional<Symbolizer> symbolizer;
  ThreadAsyncCallers callers;
  InlinedFrames inlined;
  std::vector<dotnet::FreedFrame> freed;
  std::optional<peers::OtherEnds> ends;
  std::future<FactsByThread> facts;
  std::future<void> symbols;
  base::Beside beside;  ///< last: its work refers to the others
};

namespace stages {

/// Stops, copies, lets go. Modules and runtimes follow the mappings of that instant.
void capture(DumpInProgress& at);
/// Begins to read the kernel's facts, beside the walk.
void ask_facts(DumpInProgress& at);
/// Walks threads that stopped later, each at its own instant.
void walk_late(DumpInProgress& at);
/// Walks all others over their copied stacks.
void walk(DumpInProgress& at);
/// Processor and memory of the process, before anything is stopped again; in a core, all facts.
void usage(DumpInProgress& at);
/// Stops threads with cut stacks once more, alone.
void complete(DumpInProgress& at);
/// Summaries of the runtimes, last words, and who gives names.
void runtimes(DumpInProgress& at);
/// Names managed code, which the running target may free; another thread reads symbol tables meanwhile.
void managed_names(DumpInProgress& at);
/// Waits and other objects of the runtimes, as long as they are as the capture found them.
void objects(DumpInProgress& at);
/// The kernel's facts, and the runtimes' names of threads.
void facts(DumpInProgress& at);
/// Inlined methods, and frames of code that was freed since the stop.
void freed_code(DumpInProgress& at);
/// Names all other code.
void native_names(DumpInProgress& at);
/// Waits outside the runtimes, and other processes.
void native_waits(DumpInProgress& at);
/// Marks what was freed or replaced since the stop; adds what could not be read.
void recheck(DumpInProgress& at);

}  // namespace stages

/// The request of a capture for a dump or a walker. `names`: of threads, too.
[[nodiscard]] Result<Capture> take_capture(Target& target, Worker& worker, const DumpOptions& options, bool names);

/// Takes the kernel's facts if they are there or, if it `waits`, once they are. From then on the holders of other ends
/// are looked for, beside all else.
void take_facts(DumpInProgress& at, bool waits);

}  // namespace mixstack::session
