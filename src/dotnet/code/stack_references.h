// References on a thread's stack as the collector sees them: the answer of StackWalkContract::walk_stack_references().
#pragma once

#include <vector>

#include "mixstack/address.h"
#include "mixstack/result.h"

namespace mixstack::dotnet {

/// The source that says there is a reference.
enum class ReferenceSource : std::uint8_t {
  code,            ///< the GC info of managed code that stands there
  explicit_frame,  ///< an explicit Frame of the runtime: arguments of a call that has not begun
  gc_frame,        ///< a GCFrame: native code of the runtime that protects a reference
  exception,       ///< an exception that is being handled
};

/// A place that holds a reference. Plain data.
struct StackReference {
  Address slot = 0;          ///< where it lies; 0: in `reg`
  unsigned reg = 0;          ///< a register of the frame, numbered as the psABI does
  Address object = 0;        ///< what it holds: an object, an address in one (`is_interior`), also null
  bool is_interior = false;  ///< it need not lead into the heap at all
  bool is_pinned = false;
  ReferenceSource source = ReferenceSource::code;
  Address frame = 0;       ///< of the explicit Frame, GCFrame or ExInfo; 0: code
  Address sp = 0, pc = 0;  ///< of the element of the walk that it belongs to; 0: none
  friend bool operator==(const StackReference&, const StackReference&) = default;
};

/// A place that may hold references that are not reported. Without any gap the list is complete.
enum class ReferenceGap : std::uint8_t {
  stack_walk,         ///< the walk ended early: `error`
  gc_info,            ///< the GC info of the code at `pc` cannot be read
  no_safe_point,      ///< the code at `pc` is at no safe point, so its GC info does not say what is live
  slot,               ///< a register that is not known, or a slot that cannot be read: `error`
  arguments,          ///< arguments of the call of a Frame: all, or all but `this`
  frame_kind,         ///< a Frame of a kind whose references are not known
  parent_of_funclet,  ///< the frame of a funclet's method was not found: later frames may be reported twice or not
  unwound_funclet,    ///< a funclet that an exception has left: its method's frame is not reported
  unwound_frames,     ///< an exception is handled, and the runtime does not say which frames it has left
  gc_frames,          ///< the list of GCFrames is not described, or cannot be read
  exceptions,         ///< the list of exceptions cannot be read
  too_many,           ///< references: the limit was met
};

/// Plain data.
struct ReferenceDiagnosis {
  ReferenceGap gap = ReferenceGap::stack_walk;
  Address frame = 0;  ///< of an explicit Frame, GCFrame or ExInfo; 0: none
  Address sp = 0, pc = 0;
  Error error;
};

/// Frames that have been left and that a funclet leads to are not reported; a method whose funclet stands above it on
/// the stack is not reported a second time.
struct StackReferences {
  std::vector<StackReference> references;  ///< in the order of the walk, then those of GCFrames and exceptions
  std::vector<ReferenceDiagnosis> gaps;
};

inline constexpr std::size_t kMostStackReferences = 1u << 20;
inline constexpr std::size_t kMostReferenceGaps = 1u << 12;

}  // namespace mixstack::dotnet
