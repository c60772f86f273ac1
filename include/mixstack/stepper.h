// How a walk asks for a frame's caller: the interface that the engine's own steppers and users' steppers implement.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "mixstack/frame.h"
#include "mixstack/memory_reader.h"
#include "mixstack/registers.h"

namespace mixstack {

/// A place on the stack from which the walk may resume, told by a runtime (an explicit Frame of .NET). The engine knows
/// nothing else of it: it is the witness of a transition and the way out when code between cannot be unwound.
struct Checkpoint {
  Address address = 0;           ///< where the record lies on the stack
  bool resumes = false;          ///< an active record that restores a managed context
  bool interrupted = false;      ///< the context's pc was interrupted (fault, suspension), not a return address
  Registers context;             ///< only the registers the record restores are known; none: it restores nothing
  std::uint32_t identifier = 0;  ///< the runtime's number of the record's type
  Address method = 0;            ///< handle of the method it stands for, 0 when none
};

/// One thread to walk. Everything is borrowed for the length of one walk.
struct ThreadInput {
  std::uint32_t tid = 0;
  Registers registers;
  StackView stack;                          ///< captured bytes; its fallback reads the rest
  AddressRange stack_range;                 ///< of the captured bytes
  bool stack_truncated = false;             ///< the stack goes on beyond the captured bytes
  std::span<const Checkpoint> checkpoints;  ///< ascending addresses
  std::uint32_t max_frames = 0xffffffffu;   ///< where fewer are wanted of this thread than the walker's limit
};

/// How far a walk goes and what it keeps.
struct WalkOptions {
  std::uint32_t max_frames = 65536;
  bool explicit_frames = false;  ///< show the runtime's explicit Frames between the stack frames
  bool keep_registers = false;   ///< keep each frame's known registers in the trace
  bool explain = false;          ///< record which stepper was asked and what it answered
};

/// Where the walk stands: the registers of the current frame, and its description.
struct Cursor {
  Registers registers;
  Frame frame;
};

enum class StepStatus : std::uint8_t {
  caller,        ///< cursor.registers are the caller's
  not_mine,      ///< another stepper may know
  end_of_stack,  ///< this is the outermost frame
  failed,        ///< mine, but it did not work: see error
};

struct StepOutcome {
  StepStatus status = StepStatus::not_mine;
  Error error{};
  StepperId stepper = StepperId::none;
  Trust trust = Trust::certain;
  bool caller_interrupted = false;   ///< the caller's pc is exact (it was interrupted by a signal or a fault)
  Address stub_target = 0;           ///< of the frame that was left: see Frame::stub_target
  GenericContext generic_context{};  ///< of the frame that was left, too
  Address sp_at_least = 0;           ///< where the caller's sp is not known: a lower bound
  bool elsewhere = false;  ///< the stepper answers for it that the caller's stack may lie anywhere (a coroutine led to
                           ///< its resumer): its sp need not be above this frame's. A walk follows 1,024 of these down
  bool ends_walk = false;  ///< `end_of_stack` and `failed` are the last word: nobody else is asked, no record resumes
};

/// Finds the caller of a frame. Implementations: native CFI, prologue, frame pointer, the .NET code manager, users'.
///
/// A user's stepper must not throw: an exception that leaves one counts as `failed` with `internal`. It answers from
/// `thread.stack` and memory of its own; it may be called any number of times for one frame. The engine checks every
/// answer: a caller's sp that does not advance (but see `StepOutcome::elsewhere`), or a return address that is no code,
/// is not believed. Used by one walking thread at a time.
class FrameStepper {
 public:
  virtual ~FrameStepper() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Is the code at the frame's pc this stepper's? If so it completes kind, module, method. Must not touch registers.
  /// A frame that a user's stepper claims, but then answers `not_mine` for, goes to the next that claims it.
  [[nodiscard]] virtual bool claim(Frame& frame) = 0;
  /// From the frame in `cursor` to its caller. Leaves `cursor.registers` unspecified unless the status is `caller`.
  [[nodiscard]] virtual StepOutcome step(Cursor& cursor, const ThreadInput& thread) = 0;
};

}  // namespace mixstack
