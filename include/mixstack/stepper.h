// The interface for finding a frame's caller, implemented by the engine's own steppers and by users' steppers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mixstack/frame.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack {

/// A place on the stack from which the walk may resume, reported by a runtime (an explicit Frame of .NET). To the
/// engine it is only the witness of a transition, and the way to continue beyond code that cannot be unwound.
struct Checkpoint {
  Address address = 0;           ///< address of the record on the stack
  bool resumes = false;          ///< an active record that restores a managed context
  bool interrupted = false;      ///< the context's pc was interrupted (fault, suspension), not a return address
  Registers context;             ///< only registers that the record restores are known; none: it restores nothing
  std::uint32_t identifier = 0;  ///< the runtime's number for the record's type
  Address method = 0;            ///< handle of its method; 0: none
};

/// One thread to walk. Everything is borrowed for the length of one walk.
struct ThreadInput {
  std::uint32_t tid = 0;
  Registers registers;
  StackView stack;                          ///< captured bytes; its fallback reads the rest
  AddressRange stack_range;                 ///< of the captured bytes
  bool stack_truncated = false;             ///< the stack goes on beyond the captured bytes
  std::span<const Checkpoint> checkpoints;  ///< ascending addresses
  std::uint32_t max_frames = 0xffffffffu;   ///< a lower limit for this thread than the walker's
};

/// Limits of a walk, and the data it keeps.
struct WalkOptions {
  std::uint32_t max_frames = 65536;
  bool explicit_frames = false;  ///< show the runtime's explicit Frames between the stack frames
  bool keep_registers = false;   ///< keep each frame's known registers in the trace
  bool explain = false;          ///< record which steppers were asked, and their answers
};

/// The position of a walk: the registers of the current frame, and its description.
struct Cursor {
  Registers registers;
  Frame frame;
};

enum class StepStatus : std::uint8_t {
  caller,        ///< cursor.registers are the caller's
  not_mine,      ///< another stepper may know
  end_of_stack,  ///< this is the outermost frame
  failed,        ///< mine, but it failed: see error
};

struct StepOutcome {
  StepStatus status = StepStatus::not_mine;
  Error error{};
  StepperId stepper = StepperId::none;
  Trust trust = Trust::certain;
  bool caller_interrupted = false;   ///< the caller's pc is exact (it was interrupted by a signal or a fault)
  Address stub_target = 0;           ///< of the frame that was left: Frame::stub_target
  GenericContext generic_context{};  ///< of the frame that was left
  Address sp_at_least = 0;           ///< a lower bound if the caller's sp is not known
  /// The stepper vouches that the caller's stack may lie anywhere (a coroutine led to its resumer): its sp need not be
  /// above this frame's. A walk follows 1,024 such steps downwards.
  bool elsewhere = false;
  bool ends_walk = false;  ///< `end_of_stack` and `failed` are final: no other stepper is asked, no record resumes
};

/// Finds the caller of a frame. Implementations: native CFI, prologue, frame pointer, the .NET code manager, users'.
///
/// A user's stepper must not throw: an exception counts as `failed` with `internal`. It answers from `thread.stack` and
/// memory of its own, and may be called any number of times for one frame. The engine rejects a caller whose sp does
/// not advance (but see `StepOutcome::elsewhere`), or whose return address is not code. Used by one walking thread at a
/// time.
class FrameStepper {
 public:
  virtual ~FrameStepper() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Whether the code at the frame's pc belongs to this stepper. If so, completes kind, module, method. Must not change
  /// registers. If a user's stepper claims a frame but then answers `not_mine`, the next one that claims it is asked.
  [[nodiscard]] virtual bool claim(Frame& frame) = 0;
  /// Moves from the frame in `cursor` to its caller. Leaves `cursor.registers` unspecified unless the status is
  /// `caller`.
  [[nodiscard]] virtual StepOutcome step(Cursor& cursor, const ThreadInput& thread) = 0;
};

}  // namespace mixstack
