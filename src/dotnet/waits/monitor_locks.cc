#include "dotnet/waits/monitor_locks.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

namespace mixstack::dotnet::objects {

Address MonitorLocks::object_of(Address lock) {
  if (!has_table_) read_table();
  const auto at = objects_of_locks_.find(lock);
  return at == objects_of_locks_.end() ? 0 : at->second;
}

void MonitorLocks::read_table() {
  has_table_ = true;
  const Layouts& l = objects_.memory().layouts();
  const std::uint32_t size = l.sync_table.size;
  const auto table = objects_.memory().through(l.globals.sync_table_entries);
  const auto cache = objects_.memory().through(l.globals.sync_block_cache);
  if (!table || !cache || !l.sync_table.sync_block || !l.sync_table.object) return;
  const auto end = objects_.memory().value<std::uint32_t>(*cache, l.sync_table.free_index);
  const std::uint32_t last_field = std::max(l.sync_table.sync_block.offset, l.sync_table.object.offset);
  if (!end || size < 16 || size > 64 || last_field > size - sizeof(Address)) return;
  constexpr std::size_t kPiece = 256;
  std::vector<std::byte> entries(kPiece * size);
  const auto word = [&](std::size_t entry, Field field) {
    Address value = 0;
    std::memcpy(&value, entries.data() + entry * size + field.offset, sizeof value);
    return value;
  };
  // Entry 0 holds no block.
  for (std::uint32_t index = 1; index < std::min(*end, kMostSyncBlocks);) {
    const std::size_t wanted = std::min<std::size_t>(kPiece, std::min(*end, kMostSyncBlocks) - index);
    const auto n = objects_.memory().reader().read_some(*table + std::uint64_t{index} * size,
                                                        std::span(entries).first(wanted * size));
    const std::size_t whole = n ? *n / size : 0;
    if (whole == 0) return;
    for (std::size_t i = 0; i < whole; i++, index++)
      add(word(i, l.sync_table.sync_block), word(i, l.sync_table.object));
  }
}

/// A monitor that nobody has waited for has no Lock.
void MonitorLocks::add(Address sync_block, Address object) {
  if (sync_block == 0 || object == 0 || (object & 1) != 0) return;  // free
  const auto handle = objects_.memory().pointer(sync_block, objects_.memory().layouts().sync_table.lock);
  if (!handle || *handle == 0) return;
  if (const auto lock = objects_.memory().pointer_at(*handle); lock && *lock != 0)
    objects_of_locks_.try_emplace(*lock, object);
}

}  // namespace mixstack::dotnet::objects
