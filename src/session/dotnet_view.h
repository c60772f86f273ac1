// What stands behind the public view of a runtime.
#pragma once

#include "mixstack/dotnet.h"
#include "session/capture_walk.h"
#include "session/clr_runtime.h"

namespace mixstack::dotnet {

class Runtime::Implementation {
 public:
  Implementation(session::ClrRuntime& runtime, session::CaptureWalk& walk) : runtime_(runtime), walk_(walk) {}
  [[nodiscard]] session::ClrRuntime& runtime() { return runtime_; }
  [[nodiscard]] session::CaptureWalk& walk() { return walk_; }
  /// The runtime's Thread of a captured thread, or null.
  [[nodiscard]] const ManagedThread* managed(const ThreadCapture& thread) const {
    return runtime_.thread(thread.ns_tid);
  }

 private:
  session::ClrRuntime& runtime_;
  session::CaptureWalk& walk_;
};

}  // namespace mixstack::dotnet
