// The collector's handles: who asked it to keep an object, or to tell of its end.
#pragma once

#include <cstdint>
#include <vector>

#include "dotnet/code/collector.h"
#include "dotnet/contracts/runtime_memory.h"

namespace mixstack::dotnet::objects {

/// HandleType (src/coreclr/gc/gcinterface.h).
enum class HandleKind : std::uint8_t {
  weak_short = 0,
  weak_long = 1,
  strong = 2,
  pinned = 3,
  variable = 4,
  counted = 5,
  dependent = 6,
  async_pinned = 7,
  sized = 8,
  weak_native = 9,
  weak_interior = 10,
  cross_reference = 11
};

struct GcHandle {
  HandleKind kind = HandleKind::strong;
  Address at = 0;      ///< the handle
  Address object = 0;  ///< never null
  Address second = 0;  ///< of a dependent one: what lives as long as the object
};

struct GcHandles {
  std::vector<GcHandle> handles;
  bool is_whole = true;  ///< false: some table is not as is known, cannot be read, or there are too many
};

/// Reads all handles that hold an object; of a process that stands still.
/// Each table proves itself: its first segment points back at it, and each chain of blocks is of one kind.
[[nodiscard]] GcHandles read_handles(const RuntimeMemory& memory, const Collector& collector);

/// Objects whose finalizers wait to run, of all heaps. `is_whole` as above.
struct ReadyObjects {
  std::vector<Address> objects;
  bool is_whole = true;
};
[[nodiscard]] ReadyObjects read_ready_objects(const RuntimeMemory& memory, const Collector& collector);

}  // namespace mixstack::dotnet::objects
