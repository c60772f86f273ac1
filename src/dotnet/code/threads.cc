#include "dotnet/code/threads.h"

#include <array>
#include <unordered_set>

#include "base/byte_cursor.h"

namespace mixstack::dotnet {
namespace {

// TS_Hijacked of ThreadState, src/coreclr/vm/threads.h.
constexpr std::uint32_t kHijacked = 0x00000080;

class ObjectBytes {
 public:
  ObjectBytes(std::span<const std::byte> bytes, unsigned pointer_size) : bytes_(bytes), pointer_size_(pointer_size) {}
  [[nodiscard]] Address pointer(Field f) const {
    if (!f) return 0;
    if (pointer_size_ == 8) return base::load_at<std::uint64_t>(bytes_, f.offset).value_or(0);
    return u32(f);
  }
  [[nodiscard]] std::uint32_t u32(Field f) const {
    return f ? base::load_at<std::uint32_t>(bytes_, f.offset).value_or(0) : 0;
  }

 private:
  std::span<const std::byte> bytes_;
  unsigned pointer_size_;
};

// The first Thread's link, and the store itself.
Result<Address> first_link(const RuntimeMemory& memory) {
  const auto& l = memory.layouts();
  auto store = memory.through(l.globals.thread_store);
  if (!store) return store;
  return memory.pointer(*store, l.thread_store.first_thread_link);
}

}  // namespace

Result<ManagedThread> read_thread(const RuntimeMemory& memory, Address address) {
  const auto& l = memory.layouts().thread;
  if (l.extent == 0 || l.extent > kMaxThreadExtent) return fail(ErrorCode::field_unavailable);
  // Real objects hold all fields in the first 400 bytes; the bound is for hostile descriptors.
  std::array<std::byte, 1024> fixed;
  std::vector<std::byte> large;
  std::span<std::byte> bytes = fixed;
  if (l.extent > fixed.size()) {
    large.resize(l.extent);
    bytes = large;
  }
  bytes = bytes.first(l.extent);
  if (auto r = memory.reader().read_exact(address, bytes); !r) return fail(r.error());
  const ObjectBytes object(bytes, memory.pointer_size());
  ManagedThread t;
  t.address = address;
  t.id = object.u32(l.id);
  t.os_id = object.pointer(l.os_id);
  t.state = object.u32(l.state);
  t.cooperative = object.u32(l.preemptive_gc_disabled) != 0;
  t.frame = object.pointer(l.frame);
  t.exception_tracker = object.pointer(l.exception_tracker);
  t.thread_object_handle = object.pointer(l.gc_handle);
  t.last_thrown_handle = object.pointer(l.last_thrown_object);
  t.stack = {object.pointer(l.cached_stack_limit), object.pointer(l.cached_stack_base)};
  if (t.stack.empty()) t.stack = {};
  if ((t.state & kHijacked) != 0 && l.hijacked_return_address_slot) {
    t.hijacked_slot = object.pointer(l.hijacked_return_address_slot);
    t.hijacked_return = object.pointer(l.hijacked_return_address);
    if (!t.stack.empty() && !t.stack.contains(t.hijacked_slot)) t.hijacked_slot = 0;
  }
  return t;
}

ThreadList read_threads(const RuntimeMemory& memory) {
  ThreadList list;
  const auto& l = memory.layouts();
  auto link = first_link(memory);
  if (!link || !l.thread.link_next) {
    list.error = link ? Error{ErrorCode::field_unavailable} : link.error();
    return list;
  }
  std::unordered_set<Address> seen;
  Address at = *link;
  while (at != 0) {
    if (list.threads.size() == kMaxThreads || !seen.insert(at).second) {
      list.error = {ErrorCode::limit_exceeded, 0, at};
      break;
    }
    auto thread = read_thread(memory, at - l.thread.link_next.offset);
    if (!thread) {
      list.error = thread.error();
      break;
    }
    list.threads.push_back(*thread);
    auto next = memory.pointer_at(at);
    if (!next) {
      list.error = next.error();
      break;
    }
    at = *next;
  }
  return list;
}

bool ThreadRoots::walk_from(const RuntimeMemory& memory, Address link) {
  std::unordered_set<Address> seen;
  while (link != 0 && known_.size() < kMaxThreads && seen.insert(link).second) {
    known_.push_back(link - layouts_->thread.link_next.offset);
    auto next = memory.pointer_at(link);
    if (!next) return false;
    link = *next;
  }
  return link == 0;
}

void ThreadRoots::prepare(const MemoryReader& reader) {
  const RuntimeMemory memory(reader, *layouts_);
  known_.clear();
  count_ = 0;
  if (!layouts_->thread.link_next) return;
  auto store = memory.through(layouts_->globals.thread_store);
  if (!store) return;
  count_ = memory.value<std::uint32_t>(*store, layouts_->thread_store.thread_count).value_or(0);
  if (auto link = memory.pointer(*store, layouts_->thread_store.first_thread_link)) (void)walk_from(memory, *link);
}

// New threads are appended (ThreadStore::AddThread inserts at the tail), so that the last known link leads to them.
// When the number of threads fell, the list is walked anew.
void ThreadRoots::collect(const MemoryReader& reader, std::vector<AddressRange>& out) {
  const RuntimeMemory memory(reader, *layouts_);
  const auto& l = *layouts_;
  if (!l.thread.link_next || l.thread.extent == 0) return;
  auto store = memory.through(l.globals.thread_store);
  if (!store) return;
  const auto count = memory.value<std::uint32_t>(*store, l.thread_store.thread_count).value_or(0);
  bool whole = false;
  if (!known_.empty() && count >= count_ && l.thread_store.thread_count) {
    const std::size_t before = known_.size();
    auto next = memory.pointer_at(known_.back() + l.thread.link_next.offset);
    whole = next && walk_from(memory, *next) && known_.size() - before == count - count_;
  }
  if (!whole) {
    known_.clear();
    if (auto link = memory.pointer(*store, l.thread_store.first_thread_link)) (void)walk_from(memory, *link);
  }
  count_ = count;
  for (const Address thread : known_) out.push_back({thread, thread + l.thread.extent});
  // The list's head, so that the list can be walked over the copied bytes alone.
  out.push_back({*store + l.thread_store.first_thread_link.offset,
                 *store + l.thread_store.first_thread_link.offset + l.pointer_size});
}

}  // namespace mixstack::dotnet
