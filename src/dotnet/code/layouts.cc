#include "dotnet/code/layouts.h"

#include <algorithm>

#include "dotnet/code/layouts_resolver.h"

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
                                                                   "InterpreterFrame"};

// RuntimeInfo contract: the Architecture global (docs/design/datacontracts/RuntimeInfo.md).
Arch arch_of(const Descriptor& d) {
  const auto name = d.global_text("Architecture");
  if (!name) return Arch::unknown;
  if (*name == "x64") return Arch::x86_64;
  if (*name == "arm64") return Arch::aarch64;
  if (*name == "x86") return Arch::x86;
  if (*name == "arm") return Arch::arm;
  return Arch::unknown;
}

// clr_config's OperatingSystem: 0 or "win" is Windows, 1 or "unix" any Unix (RuntimeInfo.md).
bool windows_of(const Descriptor& d) {
  const auto text = d.global_text("OperatingSystem");
  if (text && (*text == "win" || *text == "windows")) return true;
  return d.global_number("OperatingSystem") == 0u;
}

}  // namespace

std::string_view frame_type_name(FrameType type) {
  const auto i = static_cast<std::size_t>(type);
  return i < kFrameNames.size() ? kFrameNames[i] : std::string_view{};
}

Layouts resolve_layouts(const Descriptor& d) {
  Layouts l;
  l.arch = arch_of(d);
  l.is_windows = windows_of(d);
  l.pointer_size = d.pointer_size();
  const LayoutResolver r(d);
  resolve_thread_layouts(r, l);
  resolve_type_layouts(r, l);
  resolve_code_layouts(r, l);
  resolve_frame_layouts(r, l);
  resolve_globals(r, l.globals);
  for (std::size_t i = 1; i < kFrameTypes; i++)
    l.frame_identifiers[i] = d.global_number(std::string(kFrameNames[i]) + "Identifier").value_or(0);
  return l;
}

}  // namespace mixstack::dotnet
