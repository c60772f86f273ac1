// The result of a walk, as plain data that outlives the target, the capture and the walker.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mixstack/address.h"
#include "mixstack/registers.h"
#include "mixstack/result.h"

namespace mixstack {

/// What kind of code (or record) a frame stands for.
enum class FrameKind : std::uint8_t {
  native,             ///< code of a native image
  managed,            ///< code the JIT or crossgen made
  runtime_frame,      ///< an explicit Frame of the runtime (capital F): a record, not code
  runtime_stub,       ///< code the runtime generated that is no method: precode, dispatch stubs, thunks
  signal_trampoline,  ///< the kernel's or libc's return path of a signal handler
  undescribed,        ///< executable memory nobody describes (patched barrier copies, foreign JITs)
};

/// Which handler of a method its funclet is: the clause of the compiled code's exception table that begins there.
enum class FuncletKind : std::uint8_t {
  none,     ///< no funclet
  unknown,  ///< one whose clause cannot be read
  catch_handler,
  filter,
  finally,
  fault,  ///< also a `finally` that the JIT has copied to where no exception leads: `SymbolInfo::note` tells them apart
};

/// How sure a frame is, surest first. A frame is never surer than the frame it was found from, unless the chain was
/// confirmed further out: by a second witness (an explicit Frame that names the same sp), or by reaching the outermost
/// frame of the stack by unwind information alone. A doubtful step stays marked on the frame it found.
enum class Trust : std::uint8_t {
  certain,        ///< registers of the capture, CFI, or the runtime's unwind codes
  checkpoint,     ///< resumed from an explicit Frame of the runtime; registers it does not hold are unknown
  frame_pointer,  ///< a frame-pointer chain without unwind information
  prologue,       ///< decoded machine code of the prologue
  inferred,       ///< a return address found by evidence (call before it, known code); may be wrong
};

/// Which mechanism found a frame.
enum class StepperId : std::uint8_t {
  none,
  initial,
  eh_frame,
  debug_frame,
  frame_pointer,
  prologue,
  signal_frame,
  managed,
  explicit_frame,
  stub,
  scan,
  user
};

/// Why a walk ended. Everything but `end_of_stack` means that frames may be missing.
enum class StopReason : std::uint8_t {
  end_of_stack,         ///< undefined return address, entry point or thread start reached
  max_frames,           ///< the caller's limit
  no_unwind_info,       ///< nobody knew how to continue
  unreadable_memory,    ///< a needed stack word could not be read
  stack_truncated,      ///< the captured stack bytes end here
  stack_not_advancing,  ///< the caller's sp is not above the callee's
  bad_return_address,   ///< the return address is not executable memory
  register_unknown,     ///< a rule needs a register that a Frame did not restore
  malformed_unwind_info,
  malformed_frame_list,  ///< the runtime's list of explicit Frames is cyclic, leaves the stack or cannot be read
  not_captured,          ///< the thread could not be stopped or had gone
  foreign_stack,         ///< the sp is on no stack of the thread (goroutine, fiber): it is not followed
};
inline constexpr StopReason kLastStopReason = StopReason::foreign_stack;
[[nodiscard]] std::string_view to_string(StopReason);
[[nodiscard]] std::string_view to_string(FrameKind);
[[nodiscard]] std::string_view to_string(Trust);
[[nodiscard]] std::string_view to_string(StepperId);
/// As a reader knows it: "catch", "filter", "finally", "fault"; "funclet" where that is not known.
[[nodiscard]] std::string_view to_string(FuncletKind);

/// Which types a frame of shared generic code runs for: what the code itself goes by.
struct GenericContext {
  Address handle = 0;      ///< the exact MethodDesc or MethodTable; 0: the code is not shared, or it cannot be told
  bool is_method = false;  ///< a MethodDesc
  bool of_object = false;  ///< the type of an object (`this`), or a base type of it
  bool is_kept = false;    ///< never freed while the process lives
};

/// Index of a module in the module list of the session that made the trace.
using ModuleIndex = std::uint32_t;
inline constexpr ModuleIndex kNoModule = 0xffffffffu;

/// One frame. Addresses only: names are made from it later by a `Symbolizer`.
struct Frame {
  CodeAddress pc;
  Address sp = 0;   ///< stack pointer while this frame's code runs
  Address cfa = 0;  ///< sp of the caller after the return; 0 where the walk ended here
  FrameKind kind = FrameKind::native;
  StepperId found_by = StepperId::none;
  Trust trust = Trust::certain;
  FuncletKind funclet = FuncletKind::none;
  bool is_interrupted = false;     ///< pc was interrupted (innermost, or below a signal or fault), not calling
  bool witness_disagrees = false;  ///< CFI and the explicit Frame named different transitions
  // The rest of the generic context, packed: a dump may have millions of frames.
  bool generic_is_method : 1 = false, generic_of_object : 1 = false, generic_is_kept : 1 = false;
  ModuleIndex module = kNoModule;
  std::uint32_t frame_identifier = 0;
  std::uint32_t evidence = 0;       ///< index into Trace::evidence (1-based), 0: none recorded
  std::uint32_t registers = 0;      ///< index into Trace::registers (1-based), 0: not kept
  std::uint64_t module_offset = 0;  ///< lookup address minus the image's load bias (its link-time address)
  Address method = 0;               ///< MethodDesc of a managed frame or of a Frame that has one
  Address stub_target = 0;          ///< MethodDesc that an interop stub (`method`) was called for; 0: not proved
  Address generic_handle = 0;       ///< of a managed frame: GenericContext::handle
  Address method_start = 0;         ///< start of the method's native code
  Address explicit_frame = 0;       ///< address of the runtime's Frame (kind runtime_frame, or the checkpoint used)

  [[nodiscard]] bool is_funclet() const { return funclet != FuncletKind::none; }
  [[nodiscard]] GenericContext generic_context() const {
    return {generic_handle, generic_is_method, generic_of_object, generic_is_kept};
  }
  void set_generic_context(const GenericContext& context) {
    generic_handle = context.handle;
    generic_is_method = context.is_method;
    generic_of_object = context.of_object;
    generic_is_kept = context.is_kept;
  }
};

/// Why a frame was found as it was: recorded only when WalkOptions::explain is set.
struct Evidence {
  StepperId stepper = StepperId::none;
  Error error;              ///< why it declined or failed; code none when it produced the caller
  std::uint32_t frame = 0;  ///< index of the frame whose caller was sought
};

/// One thread's stack. Frames are innermost first; `stop` says why there are no more.
struct Trace {
  std::uint32_t tid = 0;
  std::vector<Frame> frames;
  std::vector<Registers> registers;
  std::vector<Evidence> evidence;
  StopReason stop = StopReason::end_of_stack;
  Error stop_error;
};

/// What a walk for addresses alone found. They are in the span that was given.
struct AddressTrace {
  std::size_t count = 0;
  StopReason stop = StopReason::end_of_stack;  ///< `max_frames`: there are more than the span holds
  Error stop_error;
};

}  // namespace mixstack
