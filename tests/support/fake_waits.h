// A runtime of .NET 11 whose threads wait for managed objects, or an earlier one whose threads wait for handles of the
// system, laid out by hand.
#pragma once

#include <utility>
#include <vector>

#include "dotnet/code/threads.h"
#include "support/fake_heap.h"

namespace mixstack::test {

class FakeWaits : public FakeHeap {
 public:
  static constexpr Address kTable = 0x7c0000000000, kBlocks = 0x7c0000001000, kHandles = 0x7c0000002000;
  static constexpr Address kCache = 0x7c0000003000, kThreads = 0x7c0000010000, kEach = 0x10000;
  static constexpr std::uint32_t kFreeIndex = 108;

  explicit FakeWaits(const nlohmann::json& descriptor_json = x64_descriptor(),
                     dotnet::WaitForm form = dotnet::WaitForm::managed)
      : FakeHeap(descriptor_json) {
    layouts.algorithms.waits = form;
    layouts.sync_table.object = {8};
    layouts.sync_table.lock = {0};
    layouts.sync_table.free_index = {kFreeIndex};
    layouts.globals.sync_block_cache = {kCache, true};
    for (const Address at : {kTable, kBlocks, kHandles, kCache}) memory.map(at, 0x1000);
    memory.map(layouts.globals.sync_table_entries.value, 8);
    memory.put_u64(layouts.globals.sync_table_entries.value, kTable);
    memory.put_u64(kCache, kCache + 0x100);
    set_sync_blocks(1);
    make_types();
  }
  void set_sync_blocks(std::uint32_t end) { memory.put_u32(kCache + 0x100 + kFreeIndex, end); }

  /// An entry of the table of sync blocks, whose monitor is this Lock.
  void add_monitor(std::uint32_t index, Address object, Address lock) {
    memory.put_u64(kTable + 16 * index, kBlocks + 0x40 * index);
    memory.put_u64(kTable + 16 * index + 8, object);
    memory.put_u64(kBlocks + 0x40 * index, lock == 0 ? 0 : handle(lock));
    set_sync_blocks(index + 1);
  }
  Address handle(Address object) {
    memory.put_u64(kHandles + handles_, object);
    return kHandles + std::exchange(handles_, handles_ + 8);
  }
  Address new_lock(std::uint32_t owner, std::uint32_t state) {
    const Address at = object(lock, 16);
    memory.put_u32(at + 8, owner);
    memory.put_u32(at + 12, state);
    return at;
  }
  /// A thread with its managed object, that does not wait.
  dotnet::ManagedThread add_thread(std::uint32_t id) {
    dotnet::ManagedThread t;
    t.address = kThreads + kEach * id;
    memory.map(t.address, kEach);
    t.id = id;
    t.os_id = 1000 + id;
    t.stack = {t.address + 0x8000, t.address + kEach};
    const Address managed = object(thread, 24);
    memory.put_u64(managed + 24, t.address);
    t.thread_object_handle = handle(managed);
    return t;
  }
  Address of(const dotnet::ManagedThread& t) { return memory.read<std::uint64_t>(t.thread_object_handle).value_or(0); }
  Address new_waitable(std::uint8_t kind) {
    const Address at = object(waitable, 16);
    memory.put_u8(at + 16, kind);
    return at;
  }
  void own(Address mutex, const dotnet::ManagedThread& t) {
    const Address at = object(ownership, 8);
    memory.put_u64(at + 8, of(t));
    memory.put_u64(mutex + 8, at);
  }
  /// What the program has of it.
  Address new_handle(Address of) {
    const Address safe = object(safe_handle, 8), at = object(wait_handle, 8);
    memory.put_u64(safe + 8, handle(of));
    memory.put_u64(at + 8, safe);
    return at;
  }
  Address wait(const dotnet::ManagedThread& t, const std::vector<Address>& waitables, bool all = false) {
    const Address info = object(wait_info, 32),
                  list = object(array, 8 + 8 * static_cast<std::uint32_t>(waitables.size()));
    memory.put_u32(list + layouts.array.num_components.offset, static_cast<std::uint32_t>(waitables.size()));
    for (std::size_t i = 0; i < waitables.size(); i++) memory.put_u64(list + layouts.array.size + 8 * i, waitables[i]);
    memory.put_u64(info + 8, of(t));
    memory.put_u64(info + 16, list);
    memory.put_u32(info + 24, static_cast<std::uint32_t>(waitables.size()));
    memory.put_u8(info + 29, all ? 1 : 0);
    memory.put_u64(of(t) + 8, info);
    return info;
  }

  Address thread = 0, wait_info = 0, waitable = 0, ownership = 0, safe_handle = 0, wait_handle = 0, lock = 0;
  static constexpr std::uint32_t kState = 28;  // of a ThreadWaitInfo

 private:
  void make_types() {
    MetadataBuilder b = library("waits.dll", "waits");
    const auto blob = object_field();
    b.type_with_fields("System.Threading", "Thread", 1, 1);
    b.type_with_fields("System.Threading", "WaitSubsystem", 4, 1);
    b.type_with_fields("", "ThreadWaitInfo", 4, 1);
    b.type_with_fields("", "WaitableObject", 9, 1);
    b.type_with_fields("", "OwnershipInfo", 11, 1);
    b.type_with_fields("Microsoft.Win32.SafeHandles", "SafeWaitHandle", 12, 1);
    b.type_with_fields("System.Threading", "WaitHandle", 13, 1);
    b.type_with_fields("System.Threading", "Lock", 14, 1);
    for (const char* field : {"_waitInfo", "_joinEvent", "_DONT_USE_InternalThread", "_thread", "_waitedObjects",
                              "_waitedCount", "_waitSignalState", "_isWaitForAll", "_ownershipInfo", "_type", "_thread",
                              "handle", "_waitHandle", "_owningThreadId", "_state", "_recursionCount"})
      b.field(field, blob);
    b.nested(4, 3);
    b.nested(5, 3);
    b.nested(6, 5);
    const Address waits = module(b.build());
    thread = type(waits, 2, object_type, 40, 0, 3, {{1, 0, 18}, {2, 8, 18}, {3, 16, 24}});
    wait_info = type(waits, 4, object_type, 48, 0, 5, {{4, 0, 18}, {5, 8, 18}, {6, 16, 8}, {7, 20, 5}, {8, 21, 2}});
    waitable = type(waits, 5, object_type, 32, 0, 2, {{9, 0, 18}, {10, 8, 5}});
    ownership = type(waits, 6, object_type, 24, 0, 1, {{11, 0, 18}});
    safe_handle = type(waits, 7, object_type, 24, 0, 1, {{12, 0, 24}});
    wait_handle = type(waits, 8, object_type, 24, 0, 1, {{13, 0, 18}});
    lock = type(waits, 9, object_type, 32, 0, 3, {{14, 0, 8}, {15, 4, 9}, {16, 8, 9}});
  }
  Address handles_ = 0;
};

}  // namespace mixstack::test
