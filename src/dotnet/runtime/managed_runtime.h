// A runtime inside a target, as those who walk and name its frames see it.
#pragma once

#include <memory>
#include <vector>

#include "dotnet/code/runtime.h"
#include "dotnet/runtime/facets.h"
#include "mixstack/dump.h"
#include "mixstack/target.h"
#include "unwind/rule_step.h"

namespace mixstack::dotnet {

/// A CoreCLR among the images, and what it says of itself; a refusal is an answer, too.
struct KnownRuntime {
  RuntimeImage image;
  Diagnosed<std::shared_ptr<const RuntimeFacts>> facts;
};

class RuntimeByContracts;

/// What one worker knows of a runtime: names of ordinary code, which stay, and the facts of one capture, made by
/// `begin_capture`. Two implementations: by the runtime's contracts, and by its DAC. Not thread-safe.
class ManagedRuntime : public RuntimeWalk,
                       public RuntimeNames,
                       public RuntimeThreads,
                       public RuntimeWaits,
                       public RuntimeHeap {
 public:
  ManagedRuntime() = default;
  ManagedRuntime(const ManagedRuntime&) = delete;
  ManagedRuntime& operator=(const ManagedRuntime&) = delete;
  virtual ~ManagedRuntime() = default;

  /// Which runtime, and what of it cannot be told.
  [[nodiscard]] virtual const RuntimeSummary& summary() const = 0;
  /// What is to be read in the stop; null when nothing can be told before it.
  [[nodiscard]] virtual RootSource* prepare_roots() = 0;
  /// Forgets the facts of the last capture and reads the threads of this one. `overlay`, and the engine that is to
  /// execute rules, are borrowed until the next call.
  virtual void begin_capture(const Capture& capture, const MemoryReader& overlay, unwind::RuleStepper& engine) = 0;
  /// What went wrong since the last call.
  [[nodiscard]] virtual std::vector<mixstack::Diagnosis> take_diagnoses() = 0;
  /// What its contracts tell of it, for questions about single methods, types and Frames; null where no descriptor is.
  [[nodiscard]] virtual RuntimeByContracts* contracts() = 0;
};

}  // namespace mixstack::dotnet
