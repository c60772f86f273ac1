// Monitors of .NET 11: each is a System.Threading.Lock, of which its object's sync block has a handle.
#pragma once

#include <unordered_map>

#include "dotnet/heap/managed_objects.h"

namespace mixstack::dotnet::objects {

/// Which object's monitor a Lock is. The table of sync blocks is read once, when first asked. Borrows the objects.
class MonitorLocks {
 public:
  static constexpr std::uint32_t kMostSyncBlocks = 1 << 20;

  explicit MonitorLocks(ManagedObjects& objects) : objects_(objects) {}

  /// 0: it is no object's monitor, or the table cannot be read.
  [[nodiscard]] Address object_of(Address lock);

 private:
  void read_table();
  void add(Address sync_block, Address object);

  ManagedObjects& objects_;
  std::unordered_map<Address, Address> objects_of_locks_;
  bool has_table_ = false;
};

}  // namespace mixstack::dotnet::objects
