#include "engine/unwind/windows/format.h"

#include "base/arch/per_cpu.h"
#include "engine/unwind/windows/amd64/rule.h"
#include "engine/unwind/windows/arm64/rule.h"

namespace mixstack::unwind::windows {

const Format* format_of(Arch arch) {
  static constexpr arch::PerCpu<Format> kFormats{
      .x86_64 = {amd64_rule, true, amd64_is_fragment, amd64_prologue_size, nullptr},
      .aarch64 = {arm64_rule, false, arm64_is_fragment, nullptr, arm64_function_length}};
  return kFormats[arch].rule == nullptr ? nullptr : &kFormats[arch];
}

}  // namespace mixstack::unwind::windows
