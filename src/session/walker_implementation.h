// A walker's parts, in the order in which they borrow from each other.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/dwarf/dwarf_symbols.h"
#include "engine/symbol_files/symbol_finder.h"
#include "engine/symbols/elf_symbols.h"
#include "engine/symbols/symbolizer.h"
#include "mixstack/walker.h"
#include "session/capture_walk.h"
#include "session/generated_code.h"

namespace mixstack {

class Walker::Implementation {
 public:
  /// The parts that a walker has from its session: a worker of its own, the rest borrowed or shared.
  struct Parts {
    session::WorkerPool::Lease worker;
    const Target& target;
    const StepperChain& users;
    std::span<const std::shared_ptr<NameProvider>> providers;
    std::shared_ptr<symbols::SymbolTables> tables;
    std::shared_ptr<symbols::LineTables> lines;          ///< null: not wanted
    std::shared_ptr<symbol_files::SymbolFinder> finder;  ///< null: not wanted
    images::PathOpener open_path;
  };
  /// `capture` has its regions.
  Implementation(Parts parts, Capture capture, const WalkOptions& options);
  /// `context` has its regions, too.
  [[nodiscard]] static std::unique_ptr<Implementation> over(WalkContext context, Parts parts,
                                                            const WalkOptions& options);

  /// The walk of a thread's instant, with the runtimes bound to it.
  [[nodiscard]] session::CaptureWalk& walk_of(const ThreadCapture& thread);
  /// The same of the instant that most threads have in common.
  [[nodiscard]] session::CaptureWalk& common();
  [[nodiscard]] Trace trace_of(const ThreadCapture& thread);
  /// Whether code may have been replaced between the common instant and the thread's.
  [[nodiscard]] bool has_other_code(const ThreadCapture& thread) const;
  /// Those of all walks, added to `diagnoses`.
  void take_diagnoses();

  Parts parts;
  WalkOptions options;
  Capture capture;
  const std::vector<Region>& regions;  ///< of the capture
  symbols::ElfSymbols elf;
  symbols::DwarfSymbols native;  ///< the same with lines
  session::GeneratedNames generated;
  session::CaptureWalk walk;  ///< of the common instant, the only one where one thread was captured
  Symbolizer symbolizer;
  std::vector<Diagnosis> diagnoses;

 private:
  [[nodiscard]] const Capture* late_capture(const ThreadCapture& thread) const;
  std::vector<std::unique_ptr<session::CaptureWalk>> late_walks_;  ///< made when first asked for
  session::CaptureWalk* bound_ = nullptr;
};

/// Copies the threads that stopped late into the list of all, in the order of their ids. If no thread stopped in time,
/// a single late capture takes the place of the common one.
void join_late(Capture& capture);

/// Names managed frames by runtime, then generated code, then native frames; the users' providers first of all.
[[nodiscard]] std::vector<NameProvider*> name_providers(
    std::span<const std::shared_ptr<NameProvider>> users,
    std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, NameProvider& generated, NameProvider& native);

}  // namespace mixstack
