#include "dotnet/contracts/layout/frame.h"

#include <array>

namespace mixstack::dotnet {
namespace {

constexpr std::array<std::string_view, kFrameTypes> kFrameNames = {"",
                                                                   "InlinedCallFrame",
                                                                   "SoftwareExceptionFrame",
                                                                   "FramedMethodFrame",
                                                                   "CLRToCOMMethodFrame",
                                                                   "PInvokeCalliFrame",
                                                                   "PrestubMethodFrame",
                                                                   "StubDispatchFrame",
                                                                   "CallCountingHelperFrame",
                                                                   "ExternalMethodFrame",
                                                                   "DynamicHelperFrame",
                                                                   "FuncEvalFrame",
                                                                   "ResumableFrame",
                                                                   "RedirectedThreadFrame",
                                                                   "FaultingExceptionFrame",
                                                                   "HijackFrame",
                                                                   "TailCallFrame",
                                                                   "UnmanagedToManagedFrame",
                                                                   "ComMethodFrame",
                                                                   "ComPrestubMethodFrame",
                                                                   "ProtectValueClassFrame",
                                                                   "DebuggerClassInitMarkFrame",
                                                                   "DebuggerExitFrame",
                                                                   "DebuggerU2MCatchHandlerFrame",
                                                                   "ExceptionFilterFrame",
                                                                   "InterpreterFrame",
                                                                   "HelperMethodFrame",
                                                                   "HelperMethodFrame_1OBJ",
                                                                   "HelperMethodFrame_2OBJ",
                                                                   "HelperMethodFrame_3OBJ",
                                                                   "HelperMethodFrame_PROTECTOBJ",
                                                                   "ProtectByRefsFrame"};

}  // namespace

std::string_view frame_type_name(FrameType type) {
  const auto i = static_cast<std::size_t>(type);
  return i < kFrameNames.size() ? kFrameNames[i] : std::string_view{};
}

}  // namespace mixstack::dotnet
