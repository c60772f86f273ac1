// The async methods that await what a thread runs, asked of the runtimes while their objects are as the capture found
// them.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dotnet/async/async_callers.h"
#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/dump.h"
#include "mixstack/symbolizer.h"
#include "session/waits.h"

namespace mixstack::session {

/// The logical callers of the threads that stopped at the common instant.
class ThreadAsyncCallers {
 public:
  /// Their code is named at once, as long as it is what the capture found there.
  void find(const ProcessDump& dump, const Capture& capture,
            std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes, const WaitFrames& frames,
            Symbolizer& symbolizer);
  /// Fills in `ThreadDump::async_callers`, when the dump has its symbols.
  void apply(ProcessDump& dump);

 private:
  struct Found {
    std::size_t thread = 0;
    dotnet::objects::LogicalCaller caller;
    Frame frame;
    std::uint32_t symbol = 0;
  };
  std::vector<Found> found_;
};

}  // namespace mixstack::session
