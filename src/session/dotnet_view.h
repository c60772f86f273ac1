// The implementation of the public view of a runtime.
#pragma once

#include "dotnet/runtime/runtime_by_contracts.h"
#include "mixstack/dotnet.h"
#include "session/walker_implementation.h"

namespace mixstack::dotnet {

class Runtime::Implementation {
 public:
  Implementation(ManagedRuntime& runtime, Walker::Implementation& walker) : runtime_(runtime), walker_(walker) {}
  /// As it was bound last: by `common`, or to the instant of the thread that was asked about.
  [[nodiscard]] ManagedRuntime& runtime() { return runtime_; }
  /// As it was when most threads stood still.
  [[nodiscard]] ManagedRuntime& common() {
    (void)walker_.common();
    return runtime_;
  }
  [[nodiscard]] session::CaptureWalk& walk_of(const ThreadCapture& thread) { return walker_.walk_of(thread); }
  /// Its contracts, as bound last; null if it has none.
  [[nodiscard]] RuntimeByContracts* contracts() { return runtime_.contracts(); }
  /// Managed code by its contracts, bound likewise; null: not known.
  [[nodiscard]] CodeManager* code() { return contracts() != nullptr ? contracts()->code() : nullptr; }
  /// The runtime's Thread of a captured thread, or null.
  [[nodiscard]] const ManagedThread* managed(const ThreadCapture& thread) {
    (void)walker_.walk_of(thread);
    return runtime_.thread(thread.ns_tid);
  }

 private:
  ManagedRuntime& runtime_;
  Walker::Implementation& walker_;
};

}  // namespace mixstack::dotnet
