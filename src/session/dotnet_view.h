// What stands behind the public view of a runtime.
#pragma once

#include "mixstack/dotnet.h"
#include "session/clr_runtime.h"
#include "session/walker_implementation.h"

namespace mixstack::dotnet {

class Runtime::Implementation {
 public:
  Implementation(session::ClrRuntime& runtime, Walker::Implementation& walker) : runtime_(runtime), walker_(walker) {}
  /// As it was bound last: by `common`, or to the instant of the thread that was asked about.
  [[nodiscard]] session::ClrRuntime& runtime() { return runtime_; }
  /// As it was when most threads stood still.
  [[nodiscard]] session::ClrRuntime& common() {
    (void)walker_.common();
    return runtime_;
  }
  [[nodiscard]] session::CaptureWalk& walk_of(const ThreadCapture& thread) { return walker_.walk_of(thread); }
  /// The runtime's Thread of a captured thread, or null.
  [[nodiscard]] const ManagedThread* managed(const ThreadCapture& thread) {
    (void)walker_.walk_of(thread);
    return runtime_.thread(thread.ns_tid);
  }

 private:
  session::ClrRuntime& runtime_;
  Walker::Implementation& walker_;
};

}  // namespace mixstack::dotnet
