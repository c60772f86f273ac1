// Why the kernel lets us sample nothing, in words, with what would lift it.
#pragma once

#include <string>

#include "base/system/gained_rights.h"
#include "mixstack/result.h"

namespace mixstack::perf {

/// Facts of this machine and of our rights; plain, so that the texts can be tested.
struct PerfRights {
  int paranoid = 2;          ///< kernel.perf_event_paranoid
  bool has_perfmon = false;  ///< CAP_PERFMON, or CAP_SYS_ADMIN
  bool is_filtered = false;  ///< a seccomp filter applies to us
  std::uint64_t most_files = 0;
  base::GainLimits limits{};  ///< of what can be gained
};
[[nodiscard]] PerfRights read_perf_rights();

/// One or two sentences about an error of `PerfSampler::open`.
[[nodiscard]] std::string explain_perf_refusal(const Error& error, const PerfRights& rights = read_perf_rights());
/// Text about what more rights would add to a working sampler, e.g. time in the kernel; empty: nothing.
[[nodiscard]] std::string explain_missing_kernel(const PerfRights& rights = read_perf_rights());

}  // namespace mixstack::perf
