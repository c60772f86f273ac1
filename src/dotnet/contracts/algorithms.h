// The algorithms by which a runtime's structures are read. What they are called stands here once; which of them a
// runtime needs, its descriptor says: the version of a contract, or where the number stayed as it was, which fields
// and globals there are.
#pragma once

#include <cstdint>

#include "dotnet/contracts/debug_info_form.h"

namespace mixstack::dotnet {

class Descriptor;

/// How the start of a method is found below an address in a code heap (docs/design/datacontracts/ExecutionManager.md).
enum class NibbleMapForm : std::uint8_t { linear, constant_time };

/// What the links of the thread list point at.
enum class ThreadLinks : std::uint8_t {
  link_to_link,      ///< .NET 9 and 10: the next Thread's link, as the list's head
  thread_to_thread,  ///< .NET 11: the Thread
};

/// What ExceptionInfo.ThrownObject is.
enum class ThrownObject : std::uint8_t {
  handle,  ///< .NET 9 and 10: a GC handle
  object,  ///< .NET 11: the object
};

/// Where the size of a MethodDesc stands.
enum class MethodSizes : std::uint8_t {
  table,  ///< .NET 9 and 10: a table of the runtime's, by class and optional slots
  types,  ///< .NET 11: the sizes of the classes and of the optional slots
};

/// Where the rank of an array type stands.
enum class ArrayRank : std::uint8_t {
  array_class,  ///< .NET 9 and 10: ArrayClass.Rank
  base_size,    ///< .NET 11: the bounds are a part of the object's base size
};

/// What the runtime's threads wait with.
enum class WaitForm : std::uint8_t {
  native,   ///< .NET 9 and 10: monitors are a part of sync blocks, handles are the platform layer's
  managed,  ///< .NET 11: a sync block leads to a System.Threading.Lock, and handles are managed objects
};

/// How the garbage collector's variables are found.
enum class CollectorPlaces : std::uint8_t {
  dac_table,    ///< .NET 10: through the table that the runtime makes for its DAC
  descriptor,   ///< .NET 11: by the collector's own descriptor
  not_started,  ///< .NET 11: that is not there until the collector starts
  not_known,    ///< by a version of its contract that is not known
};

/// How the runtime keeps async methods that it suspends itself (runtime-async).
enum class SuspendedMethods : std::uint8_t {
  resume_stubs,  ///< .NET 10: a stub to go on through, which names its method
  resume_info,   ///< .NET 11: an address in the method's code
};

struct Algorithms {
  NibbleMapForm nibble_map = NibbleMapForm::constant_time;
  ThreadLinks thread_links = ThreadLinks::link_to_link;
  ThrownObject thrown_object = ThrownObject::handle;
  MethodSizes method_sizes = MethodSizes::table;
  ArrayRank array_rank = ArrayRank::array_class;
  DebugInfoForm jit_debug_info = DebugInfoForm::bits;
  WaitForm waits = WaitForm::native;
  CollectorPlaces collector = CollectorPlaces::dac_table;
  SuspendedMethods suspended_methods = SuspendedMethods::resume_stubs;
};

/// Those that a runtime needs; of a descriptor of a version that is not known, those of the newest that is.
[[nodiscard]] Algorithms choose_algorithms(const Descriptor& descriptor);

}  // namespace mixstack::dotnet
