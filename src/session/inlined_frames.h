// Managed methods that the JIT inlined, inferred from the calls between frames.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <vector>

#include "dotnet/runtime/managed_runtime.h"
#include "mixstack/dump.h"

namespace mixstack::session {

/// The managed frame that a frame has called; null where it has called something else, or nothing.
[[nodiscard]] const Frame* callee_of(std::span<const Frame> frames, std::size_t caller);

/// The same call is looked up once, on however many stacks it is.
class InlinedFrames {
 public:
  /// Asks the runtimes about the managed frames of all threads.
  void find(const ProcessDump& dump, std::span<const std::unique_ptr<dotnet::ManagedRuntime>> runtimes);
  /// Adds them to the symbols of the frames.
  void apply(ProcessDump& dump) const;

 private:
  struct Place {
    std::size_t thread = 0, frame = 0, chain = 0;
  };
  std::vector<std::vector<SymbolInfo>> chains_;
  std::map<std::pair<Address, Address>, std::size_t> known_;  ///< by the caller's pc and the callee
  std::vector<Place> places_;
};

}  // namespace mixstack::session
