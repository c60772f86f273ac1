// A runtime inside a target, as walks and names use it.
#pragma once

#include <memory>
#include <vector>

#include "dotnet/code/runtime.h"
#include "dotnet/runtime/facets.h"
#include "engine/unwind/rule_step.h"
#include "mixstack/dump.h"
#include "mixstack/target.h"

namespace mixstack::dotnet {

/// A CoreCLR among the images, and its description; a refusal is an answer, too.
struct KnownRuntime {
  RuntimeImage image;
  Diagnosed<std::shared_ptr<const RuntimeFacts>> facts;
};

class RuntimeByContracts;

/// The facts that one worker has of a runtime: names of ordinary code, which stay, and the facts of one capture, made
/// by `begin_capture`. Two implementations: by the runtime's contracts, and by its DAC. Not thread-safe.
class ManagedRuntime : public RuntimeWalk,
                       public RuntimeNames,
                       public RuntimeThreads,
                       public RuntimeWaits,
                       public RuntimeCounting,
                       public RuntimeHeap {
 public:
  ManagedRuntime() = default;
  ManagedRuntime(const ManagedRuntime&) = delete;
  ManagedRuntime& operator=(const ManagedRuntime&) = delete;
  virtual ~ManagedRuntime() = default;

  /// The runtime, and the parts of it that cannot be read.
  [[nodiscard]] virtual const RuntimeSummary& summary() const = 0;
  /// The memory to read in the stop; null when it is not known before.
  [[nodiscard]] virtual RootSource* prepare_roots() = 0;
  /// Forgets the facts of the last capture and reads the threads of this one. `overlay`, and the engine that is to
  /// execute rules, are borrowed until the next call.
  virtual void begin_capture(const Capture& capture, const MemoryReader& overlay, unwind::RuleStepper& engine) = 0;
  /// Failures since the last call.
  [[nodiscard]] virtual std::vector<mixstack::Diagnosis> take_diagnoses() = 0;
  /// Its reader by contracts, for questions about single methods, types and Frames; null where there is no descriptor.
  [[nodiscard]] virtual RuntimeByContracts* contracts() = 0;
};

}  // namespace mixstack::dotnet
