// A .NET runtime of a target, as it was in one capture: threads, code, explicit Frames, methods, the StackWalk
// contract.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mixstack/dump.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"
#include "mixstack/target.h"

namespace mixstack::dotnet {

/// A managed thread, dead and unstarted ones included.
struct RuntimeThread {
  Address address = 0;  ///< the runtime's Thread object (coreclr/vm/threads.h)
  std::uint32_t managed_id = 0;
  std::uint64_t os_id = 0;  ///< in the target's own pid namespace; 0: not started
  std::uint32_t state = 0;  ///< Thread::ThreadState bits (coreclr/vm/threads.h)
  bool cooperative = false, background = false, dead = false;
  std::string name;
};

enum class ManagedCode : std::uint8_t { jit, ready_to_run, stub };

/// The runtime's description of the code at an address.
struct CodeFacts {
  ManagedCode kind = ManagedCode::jit;
  bool is_funclet = false;
  Address method = 0;        ///< MethodDesc; 0 when not known
  Address method_start = 0;  ///< start of the method's native code, or of the stub
  AddressRange function;     ///< the method, funclet or fragment with one unwind description; end 0: not known
};

/// An explicit Frame (coreclr/vm/frames.h): a record on the stack, not a stack frame.
struct FrameFacts {
  Address address = 0;
  std::uint32_t identifier = 0;
  std::string name;      ///< "InlinedCallFrame"; empty for an unknown identifier
  Address method = 0;    ///< its MethodDesc; 0: none
  bool resumes = false;  ///< active, and it restores a managed context
  Registers context;     ///< the registers it restores
};

/// The state of a contract walk (StackWalk_1 of dotnet/runtime, docs/design/datacontracts/StackWalk.md).
enum class WalkState : std::uint8_t { complete, error, frameless, frame, native, skipped_frame };

/// One element of the contract's walk (IStackDataFrameHandle). Plain data; outlives the walk.
struct WalkElement {
  WalkState state = WalkState::complete;
  Registers context;
  bool pc_is_return_address = false;
  Address frame = 0;                ///< GetFrameAddress: the explicit Frame at this element; 0: none; see docs/adr/0015
  std::string frame_name;           ///< GetFrameName of that Frame
  Address method = 0;               ///< GetMethodDescPtr: of the managed code or of the Frame; 0: none
  Address context_frame = 0;        ///< the Frame that supplied the context; 0: found by unwinding, or the thread's own
  std::uint32_t context_flags = 0;  ///< ContextFlags of the raw context; 0: CONTEXT_FULL
  std::shared_ptr<const std::vector<std::byte>> stored_context;  ///< a Frame's complete CONTEXT record; null: none
};

/// The StackWalk contract, version 1: managed frames and explicit Frames of one thread, lazily. Borrows its runtime's
/// walker.
class StackWalk {
 public:
  class Implementation;
  explicit StackWalk(std::unique_ptr<Implementation> implementation);
  StackWalk(StackWalk&&) noexcept;
  StackWalk& operator=(StackWalk&&) noexcept;
  ~StackWalk();
  /// Moves to the first or next element; false at the end, see error().
  [[nodiscard]] bool next();
  [[nodiscard]] const WalkElement& current() const;
  /// Writes a Windows CONTEXT of the target's CPU for the current element. Returns its size in bytes;
  /// `invalid_argument` (value: size needed) if the buffer is smaller.
  [[nodiscard]] Result<std::size_t> raw_context(std::span<std::byte> out) const;
  /// The same for an element of any walk, even one that is gone. Thread-safe.
  [[nodiscard]] static Result<std::size_t> raw_context(const WalkElement& element, std::span<std::byte> out);
  /// Why the walk ended; code none: complete.
  [[nodiscard]] const Error& error() const;

 private:
  std::unique_ptr<Implementation> implementation_;
};

/// A runtime as a walker sees it. A handle: copies refer to the same runtime. Borrows the walker. Not thread-safe.
class Runtime {
 public:
  class Implementation;
  explicit Runtime(std::shared_ptr<Implementation> implementation);
  [[nodiscard]] const RuntimeSummary& summary() const;
  [[nodiscard]] const std::string& version() const;
  /// All threads of the ThreadStore. If the list is damaged, those before the damage are right.
  [[nodiscard]] std::vector<RuntimeThread> threads() const;
  /// Nothing: no code of this runtime is there.
  [[nodiscard]] std::optional<CodeFacts> code_at(Address address) const;
  /// The explicit Frames of a thread, innermost first. `no_such_thread`: the runtime does not know it.
  [[nodiscard]] Result<std::vector<FrameFacts>> explicit_frames(const ThreadCapture& thread) const;
  /// Name of a Frame type by its identifier, "InlinedCallFrame"; empty: unknown to this runtime.
  [[nodiscard]] std::string frame_name(std::uint64_t identifier) const;
  /// MethodDesc of the Frame at an address; 0: none. Errors: `contract_unsupported`, read errors.
  [[nodiscard]] Result<Address> frame_method(Address frame) const;
  /// Name of a MethodDesc, as shown to people, or (`raw`) as in the metadata. Errors: read errors.
  [[nodiscard]] Result<std::string> method_name(Address method, bool raw = false) const;
  /// Name of a MethodTable's type; `raw` and errors as above.
  [[nodiscard]] Result<std::string> type_name(Address method_table, bool raw = false) const;
  /// A walk of a captured thread. Errors: `no_such_thread`; `contract_unsupported` (this runtime cannot be walked).
  [[nodiscard]] Result<StackWalk> stack_walk(const ThreadCapture& thread) const;

 private:
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace mixstack::dotnet
