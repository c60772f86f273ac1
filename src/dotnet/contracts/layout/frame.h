// The runtime's explicit Frames (src/coreclr/vm/frames.h) and what they consist of.
#pragma once

#include <string_view>

#include "dotnet/contracts/layout/field.h"
#include "dotnet/contracts/layout/register_block.h"

namespace mixstack::dotnet {

/// The concrete Frame types of every released and announced runtime (src/coreclr/vm/FrameTypes.h and
/// FrameIterator.cs). The number is ours; a runtime's own identifiers are in `Layouts::frame_identifiers`.
enum class FrameType : std::uint8_t {
  unknown,
  inlined_call,
  software_exception,
  framed_method,
  clr_to_com,
  pinvoke_calli,
  prestub_method,
  stub_dispatch,
  call_counting_helper,
  external_method,
  dynamic_helper,
  func_eval,
  resumable,
  redirected_thread,
  faulting_exception,
  hijack,
  tail_call,
  unmanaged_to_managed,
  com_method,
  com_prestub_method,
  protect_value_class,
  debugger_class_init_mark,
  debugger_exit,
  debugger_u2m_catch_handler,
  exception_filter,
  interpreter,
  // .NET 9 and before:
  helper_method,
  helper_method_1obj,
  helper_method_2obj,
  helper_method_3obj,
  helper_method_protectobj,
  protect_by_refs,
  count
};
inline constexpr std::size_t kFrameTypes = static_cast<std::size_t>(FrameType::count);

/// The runtime's class name of a Frame type ("InlinedCallFrame"); empty for `unknown`.
[[nodiscard]] std::string_view frame_type_name(FrameType type);

struct FrameLayout {
  Field next;

  template <class Names>
  void describe(Names& names) {
    names.type("Frame");
    names.field(next, "Next", Contract::stack_walk);
  }
};

struct InlinedCallFrameLayout {
  std::uint32_t size = 0;
  Field call_site_sp, caller_return_address, callee_saved_fp, sp_after_prolog, datum;
  Field thread;

  template <class Names>
  void describe(Names& names) {
    names.type("InlinedCallFrame", size);
    names.field(call_site_sp, "CallSiteSP", Contract::stack_walk);
    names.field(caller_return_address, "CallerReturnAddress", Contract::stack_walk);
    names.field(callee_saved_fp, "CalleeSavedFP", Contract::stack_walk);
    names.field(sp_after_prolog, "SPAfterProlog");
    names.field(datum, "Datum");
  }
};

struct SoftwareExceptionFrameLayout {
  std::uint32_t size = 0;
  Field target_context, return_address;

  template <class Names>
  void describe(Names& names) {
    names.type("SoftwareExceptionFrame", size);
    names.field(target_context, "TargetContext");
    names.field(return_address, "ReturnAddress");
  }
};

struct FramedMethodFrameLayout {
  std::uint32_t size = 0;
  Field transition_block, method_desc;

  template <class Names>
  void describe(Names& names) {
    names.type("FramedMethodFrame", size);
    names.field(transition_block, "TransitionBlockPtr");
    names.field(method_desc, "MethodDescPtr");
  }
};

struct StubDispatchFrameLayout {
  Field method_desc, representative_mt, representative_slot, indirection;

  template <class Names>
  void describe(Names& names) {
    names.type("StubDispatchFrame");
    names.field(method_desc, "MethodDescPtr");
    names.field(representative_mt, "RepresentativeMTPtr");
    names.field(representative_slot, "RepresentativeSlot");
    names.field(indirection, "Indirection");
  }
};

struct TransitionBlockLayout {
  std::uint32_t size = 0;
  Field return_address, callee_saved_registers, argument_registers;
  Field first_gc_ref_map_slot;  ///< what positions in a GCRefMap are counted from

  template <class Names>
  void describe(Names& names) {
    names.type("TransitionBlock", size);
    names.field(return_address, "ReturnAddress");
    names.field(callee_saved_registers, "CalleeSavedRegisters");
    names.field(argument_registers, "ArgumentRegisters");
    names.field(first_gc_ref_map_slot, "FirstGCRefMapSlot");
  }
};

struct FuncEvalFrameLayout {
  Field debugger_eval;

  template <class Names>
  void describe(Names& names) {
    names.type("FuncEvalFrame");
    names.field(debugger_eval, "DebuggerEvalPtr");
  }
};

struct DebuggerEvalLayout {
  Field target_context;
  Field eval_during_exception;  ///< .NET 9 and 10
  Field eval_uses_hijack;       ///< .NET 11: its contrary

  template <class Names>
  void describe(Names& names) {
    names.type("DebuggerEval");
    names.field(target_context, "TargetContext");
    names.field(eval_during_exception, "EvalDuringException");
    names.field(eval_uses_hijack, "EvalUsesHijack");
  }
};

struct ResumableFrameLayout {
  Field target_context;

  template <class Names>
  void describe(Names& names) {
    names.type("ResumableFrame");
    names.field(target_context, "TargetContextPtr");
  }
};

struct FaultingExceptionFrameLayout {
  Field target_context;

  template <class Names>
  void describe(Names& names) {
    names.type("FaultingExceptionFrame");
    names.field(target_context, "TargetContext");
  }
};

struct HijackFrameLayout {
  Field return_address, hijack_args;

  template <class Names>
  void describe(Names& names) {
    names.type("HijackFrame");
    names.field(return_address, "ReturnAddress");
    names.field(hijack_args, "HijackArgsPtr");
  }
};

struct TailCallFrameLayout {
  std::uint32_t size = 0;
  Field callee_saved_registers, return_address;

  template <class Names>
  void describe(Names& names) {
    names.type("TailCallFrame", size);
    names.field(callee_saved_registers, "CalleeSavedRegisters");
    names.field(return_address, "ReturnAddress");
  }
};

struct ExternalMethodFrameLayout {
  Field indirection;

  template <class Names>
  void describe(Names& names) {
    names.type("ExternalMethodFrame");
    names.field(indirection, "Indirection");
  }
};

struct DynamicHelperFrameLayout {
  Field flags;

  template <class Names>
  void describe(Names& names) {
    names.type("DynamicHelperFrame");
    names.field(flags, "DynamicHelperFrameFlags");
  }
};

struct HijackArgsLayout {
  RegisterBlockLayout registers;  ///< arm64, arm, x86: registers named in HijackArgs itself
  Field callee_saved_registers;   ///< x64: where the CalleeSavedRegisters structure lies
  Field rsp;                      ///< x64 Windows only
  std::uint32_t size = 0;

  template <class Names>
  void describe(Names& names) {
    names.type("HijackArgs", size);
    names.field(callee_saved_registers, "CalleeSavedRegisters");
    names.field(rsp, "Rsp");
  }
};

}  // namespace mixstack::dotnet
