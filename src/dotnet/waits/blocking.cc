#include "dotnet/waits/blocking.h"

#include <algorithm>
#include <cstddef>

#include "dotnet/bcl/locks.h"
#include "dotnet/bcl/types.h"
#include "dotnet/names/type_tree.h"

namespace mixstack::dotnet::objects {
namespace {

// While no managed code has used ThreadBlockingInfo, its thread static has no index. The native side of .NET 9 and 10
// writes it all the same, at this place of ThreadLocalData (its direct statics; seen in 10.0).
constexpr std::uint32_t kFirstRecordSlot = 0x18 + 16;

// The fields of a ThreadBlockingInfo where its type has not been loaded.
constexpr std::uint32_t kPointerOffset = 0, kKindOffset = 8, kTimeoutOffset = 12, kNextOffset = 16;

// AwareLock, the beginning of a SyncBlock (src/coreclr/vm/syncblk.h), which no descriptor tells: believed where the
// table of sync blocks points back at it.
constexpr std::uint32_t kStateOffset = 0, kRecursionOffset = 4, kManagedOwnerOffset = 8, kOwnerOffset = 16,
                        kIndexOffset = 28;
constexpr std::uint32_t kIndexMask = 0x03ffffff;
constexpr unsigned kWaiterShift = 6;  // AwareLock::LockState::WaiterCountIncrement
constexpr std::uint32_t kLockedBit = 1;
constexpr unsigned kWaiterShiftOfLock = 7;  // Lock.State.WaiterCountIncrement (System/Threading/Lock.cs)

struct RecordBegin {
  std::uint64_t word = 0;
  std::uint32_t kind = 0;
  [[nodiscard]] bool is_of(const BlockingRecord& record) const {
    return word == record.word && kind == static_cast<std::uint32_t>(record.kind);
  }
};
static_assert(offsetof(RecordBegin, word) == kPointerOffset && offsetof(RecordBegin, kind) == kKindOffset);

}  // namespace

std::optional<Address> BlockingRecords::first_slot(Address thread) {
  const RuntimeMemory& memory = objects_.memory();
  const Address type = objects_.types().find(bcl::kCoreLib, bcl::BlockingInfo::kType);
  if (type != 0)
    if (const auto at = objects_.thread_static_place(thread, type, bcl::BlockingInfo::kFirst)) return at;
  const auto data = memory.pointer(thread, memory.layouts().thread.thread_local_data);
  if (!data || *data == 0 || has_locks()) return std::nullopt;
  return *data + kFirstRecordSlot;
}

bool BlockingRecords::are_none() const {
  if (!has_locks()) return false;
  const Address type = objects_.types().find(bcl::kCoreLib, bcl::BlockingInfo::kType);
  return type == 0 || objects_.has_no_thread_statics(type);
}

bool BlockingRecords::are_there(Address thread, AddressRange stack) {
  const RuntimeMemory& memory = objects_.memory();
  const auto data = memory.pointer(thread, memory.layouts().thread.thread_local_data);
  if (!data || *data == 0 || are_none()) return data.has_value();
  const auto slot = first_slot(thread);
  const auto first = slot ? objects_.read<std::uint64_t>(*slot) : std::nullopt;
  if (!first) return false;
  const auto records = of(thread, stack);
  if (*first != 0 && stack.contains(*first) && records.empty()) return false;
  return std::all_of(records.begin(), records.end(), [this](const BlockingRecord& r) {
    return r.pointer != 0 && objects_.read<std::uint64_t>(r.pointer).has_value();
  });
}

bool BlockingRecords::is_still(Address thread, const BlockingRecord& newest, const MemoryReader& now) {
  const auto slot = first_slot(thread);
  if (!slot) return false;
  const auto first = now.read<std::uint64_t>(*slot);
  if (!first || *first != newest.at) return false;
  const auto begin = now.read<RecordBegin>(newest.at);
  return begin && begin->is_of(newest);
}

std::unordered_map<Address, bool> BlockingRecords::are_still(
    std::span<const std::pair<Address, BlockingRecord>> newest_by_thread, const memory::BulkMemory& now) {
  struct Answer {
    std::uint64_t first = 0;
    RecordBegin begin;
  };
  std::vector<Answer> answers(newest_by_thread.size());
  std::vector<memory::RangeRead> reads;
  reads.reserve(2 * answers.size());
  for (std::size_t i = 0; i < answers.size(); i++) {
    const Address slot = first_slot(newest_by_thread[i].first).value_or(0);
    reads.push_back({slot, std::as_writable_bytes(std::span(&answers[i].first, slot == 0 ? 0u : 1u))});
    reads.push_back({newest_by_thread[i].second.at, std::as_writable_bytes(std::span(&answers[i].begin, 1))});
  }
  now.read_ranges(reads);
  std::unordered_map<Address, bool> still;
  for (std::size_t i = 0; i < answers.size(); i++) {
    const auto& [thread, newest] = newest_by_thread[i];
    const bool is_read = reads[2 * i].done == sizeof(std::uint64_t) && reads[2 * i + 1].done == sizeof(RecordBegin);
    still.emplace(thread, is_read && answers[i].first == newest.at && answers[i].begin.is_of(newest));
  }
  return still;
}

std::vector<BlockingRecord> BlockingRecords::of(Address thread, AddressRange stack) {
  std::vector<BlockingRecord> records;
  const auto slot = first_slot(thread);
  auto at = slot ? objects_.read<std::uint64_t>(*slot) : std::nullopt;
  for (Address above = 0; at && *at != 0 && records.size() < kMost;) {
    // Records lie on the stack, each outside the one that was made after it.
    if (!stack.contains(*at) || *at <= above || *at % 8 != 0) break;
    above = *at;
    const auto pointer = objects_.read<std::uint64_t>(*at + kPointerOffset);
    const auto kind = objects_.read<std::uint32_t>(*at + kKindOffset);
    const auto timeout = objects_.read<std::int32_t>(*at + kTimeoutOffset);
    if (!pointer || !kind || !timeout || *kind > static_cast<std::uint32_t>(BlockingKind::condition)) break;
    BlockingRecord record{static_cast<BlockingKind>(*kind), *pointer, *timeout, *at, *pointer};
    if (record.kind == BlockingKind::lock || record.kind == BlockingKind::condition)
      record.pointer = objects_.read<std::uint64_t>(*pointer).value_or(0);  // a stack slot holds the reference
    records.push_back(record);
    at = objects_.read<std::uint64_t>(*at + kNextOffset);
  }
  return records;
}

LockState BlockingRecords::state_of(Address aware_lock, Address object) const {
  LockState state{object};
  const std::uint32_t bits = objects_.read<std::uint32_t>(aware_lock + kStateOffset).value_or(0);
  state.waiters = bits >> kWaiterShift;
  if ((bits & kLockedBit) == 0) return state;
  state.owner = objects_.read<std::uint64_t>(aware_lock + kOwnerOffset).value_or(0);
  state.managed_owner = objects_.read<std::uint32_t>(aware_lock + kManagedOwnerOffset).value_or(0);
  state.recursion = objects_.read<std::uint32_t>(aware_lock + kRecursionOffset).value_or(0);
  return state;
}

std::optional<LockState> BlockingRecords::monitor(Address aware_lock) {
  const Layouts& l = objects_.memory().layouts();
  const auto index = objects_.read<std::uint32_t>(aware_lock + kIndexOffset);
  const auto table = objects_.memory().through(l.globals.sync_table_entries);
  if (!index || !table || l.sync_table.size < 16) return std::nullopt;
  const Address entry = *table + std::uint64_t{*index & kIndexMask} * l.sync_table.size;
  const auto block = objects_.memory().pointer(entry, l.sync_table.sync_block);
  const auto object = objects_.read<std::uint64_t>(entry + l.sync_table.sync_block.offset + 8);
  if (!block || *block != aware_lock || !object || objects_.type_of(*object) == 0) return std::nullopt;
  return state_of(aware_lock, *object);
}

std::optional<LockState> BlockingRecords::lock(Address object) {
  if (!objects_.is_a(object, bcl::Lock::kType)) return std::nullopt;
  LockState state{object};
  state.recursion = objects_.value<std::uint32_t>(object, bcl::Lock::kRecursion).value_or(0);
  const auto place = objects_.types().field(objects_.type_of(object), bcl::Lock::kOwner);
  if (!place) return std::nullopt;
  const std::uint32_t id = objects_.value<std::uint32_t>(object, bcl::Lock::kOwner).value_or(0);
  if (has_locks()) {
    state.is_by_managed_id = true;
    state.managed_owner = id;
    state.waiters = objects_.value<std::uint32_t>(object, bcl::Lock::kState).value_or(0) >> kWaiterShiftOfLock;
    return state;
  }
  const bool is_wide = place->element == names::ElementType::i8 || place->element == names::ElementType::u8;
  state.owner = is_wide ? objects_.value<std::uint64_t>(object, bcl::Lock::kOwner).value_or(0) : id;
  return state;
}

}  // namespace mixstack::dotnet::objects
