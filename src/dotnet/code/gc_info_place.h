// Where the GC info of code lies.
#pragma once

#include "dotnet/code/function_table.h"

namespace mixstack::dotnet {

struct GcInfoPlace {
  Address begin = 0;
  std::uint32_t version = 0;  ///< of its format
  bool is_constant = false;   ///< of an image: never written
};

/// Finds that of jitted code by its RealCodeHeader. `field_unavailable`: the runtime does not say, or not which
/// version.
[[nodiscard]] Result<GcInfoPlace> gc_info_of_jit(const RuntimeMemory& memory, Address code_header);

/// Finds that of a precompiled method by the row of its start: it follows the unwind data and the personality
/// routine's address, which every row of an image has. `major_version`: of the image's format; `unsupported` where it
/// is not known. Source: ReadyToRunJitManager::JitTokenToGCInfo and GetUnwindDataBlob in src/coreclr/vm/codeman.cpp.
[[nodiscard]] Result<GcInfoPlace> gc_info_of_image(const RuntimeMemory& memory, const FunctionTable& table,
                                                   Address method_start, std::uint16_t major_version);

}  // namespace mixstack::dotnet
