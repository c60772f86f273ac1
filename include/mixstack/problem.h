// Why a process cannot be looked at.
#pragma once

#include <cstdint>

namespace mixstack {

/// The kinds of failure that a person or a script can tell apart.
enum class Problem : std::uint8_t {
  none,
  no_such_process,
  is_thread,
  zombie,
  kernel_thread,
  is_self,
  unsupported_cpu,
  already_traced,
  permission,
  process_changed,
  no_such_thread,
  resources,  ///< the system does not give us what we need: memory, file descriptors, threads
  no_proc,
  foreign_proc,  ///< /proc belongs to another pid namespace
  hidden,
  other
};

}  // namespace mixstack
