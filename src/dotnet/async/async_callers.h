// The logical callers of a thread: async methods that go on when what it runs has ended, and are not on its stack.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dotnet/async/async_chains.h"
#include "dotnet/async/async_dispatchers.h"
#include "dotnet/async/waiting_thread.h"

namespace mixstack::dotnet::objects {

/// An async method that awaits what the one before it ends with.
struct LogicalCaller {
  std::string method;        ///< C# name, as frames of it have it
  std::string module;        ///< of one with a state machine; may be empty
  Address box = 0;           ///< the object that holds its state: the task that its caller got
  std::int32_t state = -1;   ///< as in AsyncStep
  Address ip = 0;            ///< where it goes on; 0: not known
  Address method_desc = 0;   ///< of `ip`
  Address method_start = 0;  ///< of `ip`
};

/// Finds them by the innermost async method on a stack that was suspended before: by the runtime's own record, or by
/// its box on the stack. Bounded. For one capture; not thread-safe. Borrows everything.
class AsyncCallers {
 public:
  static constexpr std::size_t kMost = 256;           ///< of one thread
  static constexpr std::size_t kMostWords = 1 << 13;  ///< of its stack

  AsyncCallers(ManagedObjects& objects, CodeManager& code, names::MethodNames& names)
      : objects_(objects),
        delegates_(objects, code, names),
        machines_(objects, delegates_),
        chains_(objects, delegates_, machines_, std::nullopt),
        dispatchers_(objects) {}

  /// The innermost first; empty: nobody awaits what it runs. Nothing: it cannot be told, or it runs none.
  [[nodiscard]] std::optional<std::vector<LogicalCaller>> of(const WaitingThread& at);

 private:
  [[nodiscard]] Address box_at(const WaitingThread& at, std::size_t frame);
  /// The one box among words that runs the method; 0: there are several.
  [[nodiscard]] std::optional<Address> box_among(const WaitingThread& at, std::span<const Address> words,
                                                 std::string_view method);
  void add_methods(const RuntimeAsync::Methods& found, Address task, std::vector<LogicalCaller>& out);
  void add_above(Address object, std::vector<LogicalCaller>& out);

  ManagedObjects& objects_;
  Delegates delegates_;
  StateMachines machines_;
  AsyncChains chains_;
  AsyncDispatchers dispatchers_;
};

/// A method of the box of an async method, which calls the method's code.
[[nodiscard]] bool is_frame_of_box(const WaitFrame& frame);
/// A method that stands between such a frame and the method's code.
[[nodiscard]] bool restores_context(const WaitFrame& frame);
/// Whether `AsyncCallers` may find any by this frame.
[[nodiscard]] inline bool runs_async_methods(const WaitFrame& frame) {
  return is_frame_of_box(frame) || (frame.is_managed && dispatches_continuations(frame.method));
}
/// A method's name without its arguments and parameters, which frames of shared code have otherwise.
[[nodiscard]] std::string_view bare_method(std::string_view method);

}  // namespace mixstack::dotnet::objects
