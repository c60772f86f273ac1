#include "features/record/allocation_refusal.h"

#include <cerrno>

#include "process/perf/perf_refusal.h"
#include "process/perf/write_watch.h"

namespace mixstack::record {

std::string why_no_allocations(const Error& error) {
  if (perf::are_registers_taken(error))
    return "all debug registers of its threads are taken, by a debugger's watchpoints or by another profiler: end "
           "these";
  if (error.code == ErrorCode::unsupported && error.os_error == 0)
    return "it has no runtime that tells where its threads allocate (.NET 10 and 11 do; NativeAOT does not)";
  if (error.code == ErrorCode::unsupported)
    return "this kernel or machine has no hardware breakpoints (CONFIG_HAVE_HW_BREAKPOINT; some virtual machines and "
           "emulators hide the debug registers). The bytes of each thread are known all the same: mixstack memory PID "
           "--makers";
  return perf::explain_perf_refusal(error);
}

}  // namespace mixstack::record
