// Which chain of async methods without a state machine a thread runs at the moment (.NET 11).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dotnet/async/continuations.h"
#include "dotnet/code/threads.h"
#include "mixstack/target.h"

namespace mixstack::dotnet::objects {

/// A task whose methods a thread runs one after the other, each with the result of the one before.
struct DispatchedTask {
  Address task = 0;
  Address next = 0;  ///< the continuation of the method that has called the running one; 0: the outermost runs
};

/// Reads what the runtime keeps on the stack of a thread (AsyncDispatcherInfo) and a thread static names. Not
/// thread-safe. Borrows the objects.
class AsyncDispatchers {
 public:
  static constexpr std::size_t kMostNested = 16;  ///< of one thread

  explicit AsyncDispatchers(ManagedObjects& objects) : objects_(objects) {}

  /// Innermost first. Nothing: the thread runs none, or that cannot be told. `copied`: its stack as it was when it was
  /// sampled; null: as memory has it.
  [[nodiscard]] std::vector<DispatchedTask> of(const ManagedThread& thread, const MemorySlice* copied = nullptr);

 private:
  [[nodiscard]] std::optional<Address> reference(Address info, std::string_view field, const MemorySlice* copied);

  ManagedObjects& objects_;
  Address type_ = 0;
  bool has_type_ = false;
};

/// Whether a frame's method lets the methods of a task go on.
[[nodiscard]] bool dispatches_continuations(std::string_view method);

}  // namespace mixstack::dotnet::objects
