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
struct ThreadFacts {
  Address address = 0;  ///< the runtime's Thread object
  std::uint32_t managed_id = 0;
  std::uint64_t os_id = 0;  ///< in the target's own pid namespace; 0: not started
  std::uint32_t state = 0;  ///< ThreadState bits
  bool cooperative = false, background = false, dead = false;
  std::string name;
};

enum class ManagedCode : std::uint8_t { jit, ready_to_run, stub };

/// What the runtime says lies at an address.
struct CodeFacts {
  ManagedCode kind = ManagedCode::jit;
  bool is_funclet = false;
  Address method = 0;        ///< MethodDesc; 0 when not known
  Address method_start = 0;  ///< start of the method's native code, or of the stub
  AddressRange function;     ///< the method, funclet or fragment that unwinds as one; end 0 when not known
};

/// An explicit Frame.
struct FrameFacts {
  Address address = 0;
  std::uint32_t identifier = 0;
  std::string name;      ///< "InlinedCallFrame"; empty for an unknown identifier
  Address method = 0;    ///< MethodDesc it stands for, 0 when none
  bool resumes = false;  ///< active, and it restores a managed context
  Registers context;     ///< the registers it restores
};

/// Where a walk of the contract stands (StackWalk_1 of dotnet/runtime).
enum class WalkState : std::uint8_t { complete, error, frameless, frame, native, skipped_frame };

/// One element of the contract's walk (IStackDataFrameHandle). Plain data; outlives the walk.
struct WalkElement {
  WalkState state = WalkState::complete;
  Registers context;
  bool pc_is_return_address = false;
  Address frame = 0;                ///< GetFrameAddress: the explicit Frame it stands at, 0: none; see docs/adr/0015
  std::string frame_name;           ///< GetFrameName of that Frame
  Address method = 0;               ///< GetMethodDescPtr: of the managed code or of the Frame; 0: none
  Address context_frame = 0;        ///< the Frame that the context was made from; 0: by unwinding, or the thread's own
  std::uint32_t context_flags = 0;  ///< ContextFlags of the raw context; 0: CONTEXT_FULL
  std::shared_ptr<const std::vector<std::byte>> stored_context;  ///< the CONTEXT a Frame keeps whole; null: none
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
  /// A Windows CONTEXT of the target's CPU for the current element. Answers its size; `invalid_argument` (value: size
  /// needed) for a smaller buffer.
  [[nodiscard]] Result<std::size_t> raw_context(std::span<std::byte> out) const;
  /// The same for an element of this or another walk, however long ago. Thread-safe.
  [[nodiscard]] static Result<std::size_t> raw_context(const WalkElement& element, std::span<std::byte> out);
  /// Why the walk ended: code none when it is complete.
  [[nodiscard]] const Error& error() const;

 private:
  std::unique_ptr<Implementation> implementation_;
};

/// A runtime as a walker sees it. A handle: copies are the same runtime. Borrows the walker. Not thread-safe.
class Runtime {
 public:
  class Implementation;
  explicit Runtime(std::shared_ptr<Implementation> implementation);
  [[nodiscard]] const RuntimeSummary& summary() const;
  [[nodiscard]] const std::string& version() const;
  /// All threads of the ThreadStore; those before damage are right even if the list is not whole.
  [[nodiscard]] std::vector<ThreadFacts> threads() const;
  /// Nothing when no code of this runtime lies there.
  [[nodiscard]] std::optional<CodeFacts> code_at(Address address) const;
  /// The explicit Frames of a thread, innermost first. `no_such_thread`: the runtime does not know it.
  [[nodiscard]] Result<std::vector<FrameFacts>> explicit_frames(const ThreadCapture& thread) const;
  /// Name of a Frame's type by its identifier, "InlinedCallFrame"; empty when this runtime has none with it.
  [[nodiscard]] std::string frame_name(std::uint64_t identifier) const;
  /// MethodDesc of the Frame at an address, 0 when it has none. Errors: `contract_unsupported`, those of reading.
  [[nodiscard]] Result<Address> frame_method(Address frame) const;
  /// Name of a MethodDesc: as people write it, or as the metadata has it.
  [[nodiscard]] Result<std::string> method_name(Address method, bool raw = false) const;
  /// Name of the type of a MethodTable.
  [[nodiscard]] Result<std::string> type_name(Address method_table, bool raw = false) const;
  /// `no_such_thread`; `contract_unsupported` when the runtime cannot be walked.
  [[nodiscard]] Result<StackWalk> stack_walk(const ThreadCapture& thread) const;

 private:
  std::shared_ptr<Implementation> implementation_;
};

}  // namespace mixstack::dotnet
