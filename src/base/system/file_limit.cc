#include "base/system/file_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace mixstack::base {
namespace {

/// Files of one dump: a share of the limit (1/kShare) that process/live/thread_stats.cc keeps open, kOthers for
/// everything else, and kBefore opened earlier, such as modules.
constexpr std::uint64_t kShare = 8, kOthers = 16, kBefore = 48;

}  // namespace

std::uint64_t end_of_thread_files() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  const std::uint64_t most = limit.rlim_cur;
  return most - std::min(most, most / kShare + kOthers);
}

std::uint64_t limit_for_thread_files(std::uint64_t files) {
  return (files + kBefore + kOthers) * kShare / (kShare - 1) + 1;
}

void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace mixstack::base
