// The object that a thread was given new room for, and its type.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dotnet/code/collector.h"
#include "dotnet/contracts/runtime_memory.h"
#include "dotnet/heap/gc_regions.h"
#include "dotnet/heap/loaded_types.h"
#include "dotnet/heap/object_sizes.h"

namespace mixstack::dotnet::objects {

/// Reads the heap of a process that runs, soon after the room was given and before the next collection; whether none
/// was in between, the caller checks. Borrows everything. Not thread-safe.
class NewObjects {
 public:
  NewObjects(RuntimeMemory memory, Address dac_table, names::MethodNames& names);

  /// The MethodTable of the object, proved by the heap; 0: not proved. `words` are the thread's registers at that
  /// moment.
  ///
  /// Small: one of them is where the new room begins. Either the object begins there, or it began in the last room,
  /// behind a gap of the smallest size that the collector made for it, and reaches into the new one. Large: one of them
  /// is the object.
  [[nodiscard]] Address type_of(std::span<const std::uint64_t> words, bool is_large);
  /// Its C# name; empty: not known.
  [[nodiscard]] std::string name(Address method_table);
  /// Objects are being moved now.
  [[nodiscard]] bool is_moving() { return regions_.is_moving(); }

 private:
  [[nodiscard]] std::vector<Address> in_heap(std::span<const std::uint64_t> words) const;
  [[nodiscard]] std::optional<std::uint64_t> size_at(Address object);
  [[nodiscard]] Address reaching_into(Address room);
  [[nodiscard]] static std::vector<Address> rooms(std::span<const std::uint64_t> words,
                                                  std::span<const Address> places);
  [[nodiscard]] Address small(std::span<const Address> rooms, Address limit);
  [[nodiscard]] Address large(std::span<const Address> places);

  RuntimeMemory memory_;
  GcRegionReader regions_;
  ObjectSizes sizes_;
  LoadedTypes types_;
  AddressRange heap_;
  Address free_ = 0;
  std::vector<std::uint64_t> before_;  ///< words before a place
};

}  // namespace mixstack::dotnet::objects
