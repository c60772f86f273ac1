// A walker's parts, in the order in which they borrow from each other.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "mixstack/walker.h"
#include "session/capture_walk.h"
#include "symbolize/elf_symbols.h"
#include "symbolize/symbolizer.h"

namespace mixstack {

class Walker::Implementation {
 public:
  /// What a walker borrows of its session.
  struct Parts {
    const Target& target;
    const MemoryReader& live;
    const object::ModuleMap& modules;
    std::span<const std::unique_ptr<session::ClrRuntime>> runtimes;
    const StepperChain& users;
    std::span<const std::shared_ptr<NameProvider>> providers;
    std::shared_ptr<symbolize::SymbolTables> tables;
    walk::Tables unwind_tables;
    object::PathOpener open_path;
  };
  Implementation(const Parts& parts, Capture capture, std::vector<Region> regions, const WalkOptions& options);

  Capture capture;
  std::vector<Region> regions;
  std::span<const std::unique_ptr<session::ClrRuntime>> runtimes;
  symbolize::ElfSymbols elf;
  walk::NativeStepper native;  ///< its own: walkers may be used by several threads
  session::CaptureWalk walk;
  Symbolizer symbolizer;
  std::vector<Diagnosis> diagnoses;
};

/// Names managed frames by runtime, then native ones; the users' providers first of all.
[[nodiscard]] std::vector<NameProvider*> name_providers(std::span<const std::shared_ptr<NameProvider>> users,
                                                        std::span<const std::unique_ptr<session::ClrRuntime>> runtimes,
                                                        NameProvider& elf);

}  // namespace mixstack
