// The algorithms by which a runtime's structures are read, named once. The descriptor says which of them a runtime
// needs: by the version of a contract or, where the number stayed as it was, by the fields and globals that are there.
#pragma once

#include <cstdint>

#include "dotnet/contracts/debug_info_form.h"

namespace mixstack::dotnet {

class Descriptor;

/// The way from an address in a code heap to the start of its method (docs/design/datacontracts/ExecutionManager.md).
enum class NibbleMapForm : std::uint8_t { linear, constant_time };

/// The target of links in the thread list.
enum class ThreadLinks : std::uint8_t {
  link_to_link,      ///< .NET 9 and 10: the next Thread's link, as the list's head
  thread_to_thread,  ///< .NET 11: the Thread
};

/// The value in ExceptionInfo.ThrownObject.
enum class ThrownObject : std::uint8_t {
  handle,  ///< .NET 9 and 10: a GC handle
  object,  ///< .NET 11: the object
};

/// The place of a MethodDesc's size.
enum class MethodSizes : std::uint8_t {
  table,  ///< .NET 9 and 10: a table of the runtime's, by class and optional slots
  types,  ///< .NET 11: the sizes of the classes and of the optional slots
};

/// The place of an array type's rank.
enum class ArrayRank : std::uint8_t {
  array_class,  ///< .NET 9 and 10: ArrayClass.Rank
  base_size,    ///< .NET 11: the bounds are a part of the object's base size
};

/// The objects that the runtime's threads wait with.
enum class WaitForm : std::uint8_t {
  native,   ///< .NET 9 and 10: monitors are a part of sync blocks, handles are the platform layer's
  managed,  ///< .NET 11: a sync block leads to a System.Threading.Lock, and handles are managed objects
};

/// The way to the garbage collector's variables.
enum class CollectorPlaces : std::uint8_t {
  dac_table,    ///< .NET 10: through the table that the runtime makes for its DAC
  descriptor,   ///< .NET 11: by the collector's own descriptor
  not_started,  ///< .NET 11: its descriptor is not there until the collector starts
  not_known,    ///< the version of its contract is not known
};

/// The form in which the runtime keeps async methods that it suspends itself (runtime-async).
enum class SuspendedMethods : std::uint8_t {
  resume_stubs,  ///< .NET 10: a stub that resumes it and names its method
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

/// The algorithms that a runtime needs; for an unknown version of the descriptor, those of the newest known one.
[[nodiscard]] Algorithms choose_algorithms(const Descriptor& descriptor);

}  // namespace mixstack::dotnet
