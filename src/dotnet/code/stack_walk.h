// The runtime's StackWalk contract, version 1: a lazy walk over managed frames and explicit Frames.
#pragma once

#include <optional>
#include <string_view>

#include "dotnet/code/code_manager.h"
#include "dotnet/code/frames/frame_update.h"
#include "dotnet/code/threads.h"

namespace mixstack::dotnet {

/// Where a walk stands (StackWalkState of StackWalk_1.cs; `native` is what later versions of it call NativeMarker).
enum class StackWalkState : std::uint8_t {
  complete,
  error,
  frameless,      ///< the context is managed code
  frame,          ///< the context is native; the next step resumes from the current explicit Frame
  native,         ///< the context is native and no explicit Frame is left: the last element
  skipped_frame,  ///< the context is managed; the current explicit Frame lies inside its stack frame
};

/// One element of the walk: IStackDataFrameHandle. Plain data; outlives the walk.
struct StackDataFrame {
  StackWalkState state = StackWalkState::complete;
  Registers context;  ///< registers that are not known are absent
  bool pc_is_return_address = false;
  std::uint32_t context_flags = 0;  ///< of raw_context; 0: CONTEXT_FULL. A stored context's stay until the next one
  FrameRecord frame;                ///< the explicit Frame the walk stands at; address 0 when the list is exhausted
  Address context_frame = 0;        ///< the Frame that the context was made from; 0: by unwinding, or the thread's own
  std::shared_ptr<const std::vector<std::byte>> stored;  ///< the whole CONTEXT that `context_frame` keeps; null: none
};

struct StackReferences;

/// The pc of an element, as what it is.
[[nodiscard]] inline CodeAddress code_address(const StackDataFrame& at) {
  return at.pc_is_return_address ? CodeAddress::after_call(at.context.pc()) : CodeAddress::exact(at.context.pc());
}

/// The contract's operations for one capture. Borrows the code manager and the memory. Not thread-safe.
class StackWalkContract {
 public:
  /// `memory` is the overlay of a capture, or the memory of a stopped process or core. `pac_mask` clears pointer
  /// authentication from return addresses (ARM64).
  StackWalkContract(CodeManager& code, const RuntimeMemory& memory, std::uint64_t pac_mask = 0)
      : code_(code), memory_(memory), pac_mask_(pac_mask) {}

  /// One walk, advanced on demand.
  class Walk {
   public:
    /// Moves to the first or next element; false at the end, see error().
    [[nodiscard]] bool next();
    [[nodiscard]] const StackDataFrame& current() const { return at_; }
    /// Why the walk ended: code none when it is complete. `limit_exceeded` and `stack_not_advancing` guard against
    /// hostile stacks, errors of unwinding and of Frames are passed on.
    [[nodiscard]] const Error& error() const { return error_; }
    /// The stack pointer after the return from the managed code that current() stands in. Errors of unwinding.
    [[nodiscard]] Result<Address> caller_sp();

   private:
    friend class StackWalkContract;
    Walk(StackWalkContract& owner, const ManagedThread& thread, const Registers& context, const StackView& stack);
    [[nodiscard]] bool start();
    [[nodiscard]] bool advance();
    [[nodiscard]] bool step_out_of_managed();
    [[nodiscard]] Result<void> step_out_of_frame();
    void pop_frame();
    [[nodiscard]] bool settle(bool context_is_new);
    [[nodiscard]] bool stop(const Error& error);
    [[nodiscard]] Result<Registers> compute_caller() const;
    [[nodiscard]] const Result<Registers>& caller();
    [[nodiscard]] CodeAddress pc() const;

    StackWalkContract* owner_;
    void undo_hijack(Registers& caller) const;

    AddressRange bounds_;
    Address hijacked_slot_ = 0, hijacked_return_ = 0;
    StackView stack_;
    StackDataFrame at_;
    std::optional<Result<Registers>> caller_;  // of the managed context in at_, once it was needed
    bool started_ = false;
    Address resumed_from_ = 0;  // the Frame that was used last
    std::size_t elements_ = 0;
    Error error_;
  };

  /// CreateStackWalk: nothing is read before the first next(). `context` are the thread's registers. `stack` speeds up
  /// reading of the thread's stack by bytes at hand (its captured slice, borrowed); its fallback is not used.
  [[nodiscard]] Walk create_stack_walk(const ManagedThread& thread, const Registers& context,
                                       const StackView& stack = {}) {
    return Walk(*this, thread, context, stack);
  }

  /// GetRawContext: a Windows CONTEXT of the target's CPU, for any element of any walk. If a Frame stores the whole
  /// context, the answer equals it to the last byte; else registers that are not known are zero. Answers its size;
  /// `invalid_argument` (value: size needed) for a smaller buffer.
  [[nodiscard]] Result<std::size_t> raw_context(const StackDataFrame& handle, std::span<std::byte> out) const;
  /// GetFrameAddress: the explicit Frame, 0 where the context does not stand at one.
  [[nodiscard]] static Address frame_address(const StackDataFrame& handle);
  /// GetFrameName: empty for an unknown identifier.
  [[nodiscard]] std::string_view frame_name(std::uint64_t identifier) const {
    return dotnet::frame_name(memory_.layouts(), identifier);
  }
  /// GetMethodDescPtr(framePtr): 0 where not applicable.
  [[nodiscard]] Result<Address> method_desc(Address frame) const;
  /// GetMethodDescPtr(handle), with the ReportInteropMD case: an InlinedCallFrame skipped inside an IL stub that takes
  /// the real method as hidden argument answers that method.
  [[nodiscard]] Result<Address> method_desc(const StackDataFrame& handle);

  /// GetExactGenericArgsToken: the context of this frame's shared generic code: a MethodDesc, a MethodTable, or the
  /// MethodTable of `this`. `not_found`: no managed frame, no shared code, or the context is kept nowhere at this
  /// place; `mismatch`: the value there is none of this method.
  [[nodiscard]] Result<Address> exact_generic_args_token(const StackDataFrame& handle, const StackView& stack = {});
  /// WalkStackReferences: the references on the thread's stack as the collector sees them (stack_references.h).
  [[nodiscard]] StackReferences walk_stack_references(const ManagedThread& thread, const Registers& context,
                                                      const StackView& stack = {});

  static constexpr std::size_t kMaxElements = 1u << 20;

 private:
  CodeManager& code_;
  RuntimeMemory memory_;
  std::uint64_t pac_mask_;
};

}  // namespace mixstack::dotnet
