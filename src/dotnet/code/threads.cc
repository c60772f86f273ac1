#include "dotnet/code/threads.h"

#include <array>
#include <unordered_set>

#include "base/system/byte_cursor.h"

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

/// Goes through the list of a ThreadStore: the Thread that a link leads to, and where the next link is.
class ThreadLinkReader {
 public:
  explicit ThreadLinkReader(const RuntimeMemory& memory)
      : memory_(memory),
        offset_(memory.layouts().thread.link_next.offset),
        leads_to_link_(memory.layouts().algorithms.thread_links == ThreadLinks::link_to_link) {}
  /// Where the first link lies.
  [[nodiscard]] Result<Address> head() const {
    const auto& l = memory_.layouts();
    auto store = memory_.through(l.globals.thread_store);
    if (!store) return store;
    if (!l.thread_store.first_thread_link || !l.thread.link_next) return fail(ErrorCode::field_unavailable);
    return *store + l.thread_store.first_thread_link.offset;
  }
  [[nodiscard]] Address thread(Address link) const { return leads_to_link_ ? link - offset_ : link; }
  [[nodiscard]] Result<Address> next(Address link) const {
    return memory_.pointer_at(leads_to_link_ ? link : link + offset_);
  }

 private:
  const RuntimeMemory& memory_;
  std::uint32_t offset_;
  bool leads_to_link_;
};

/// Notices a cycle in a list after at most three times its elements, and without memory of its own, because it runs
/// while the target is stopped: an element is remembered at every power of two (Brent).
class CycleCheck {
 public:
  [[nodiscard]] bool is_again(Address at) {
    if (at == kept_) return true;
    if (++steps_ < until_) return false;
    kept_ = at;
    until_ *= 2;
    steps_ = 0;
    return false;
  }

 private:
  Address kept_ = 0;
  std::size_t steps_ = 0, until_ = 1;
};

void keep_first_of_each(std::vector<ManagedThread>& threads) {
  std::unordered_set<Address> seen;
  std::erase_if(threads, [&](const ManagedThread& t) { return !seen.insert(t.address).second; });
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

Result<LastHijack> read_last_hijack(const RuntimeMemory& memory, Address thread) {
  const auto& l = memory.layouts().thread;
  if (!l.hijacked_return_address_slot || !l.hijacked_return_address) return fail(ErrorCode::not_found);
  const auto slot = memory.pointer(thread, l.hijacked_return_address_slot);
  const auto return_address = memory.pointer(thread, l.hijacked_return_address);
  if (!slot || !return_address) return fail(slot ? return_address.error() : slot.error());
  if (*slot == 0 || *return_address == 0) return fail(ErrorCode::not_found);
  return LastHijack{*slot, *return_address};
}

Error visit_thread_objects(const RuntimeMemory& memory, const std::function<Error(Address, bool&)>& visit) {
  const ThreadLinkReader links(memory);
  const auto head = links.head();
  if (!head) return head.error();
  const auto link = memory.pointer_at(*head);
  if (!link) return link.error();
  CycleCheck cycle;
  Address at = *link;
  for (std::size_t count = 0; at != 0; count++) {
    if (count == kMaxThreads || cycle.is_again(at)) return {ErrorCode::limit_exceeded, 0, at};
    bool goes_on = true;
    if (const Error error = visit(links.thread(at), goes_on); error.code != ErrorCode::none || !goes_on) return error;
    auto next = links.next(at);
    if (!next) return next.error();
    at = *next;
  }
  return {};
}

Error visit_threads(const RuntimeMemory& memory, const std::function<bool(const ManagedThread&)>& visit) {
  return visit_thread_objects(memory, [&](Address at, bool& goes_on) {
    const auto thread = read_thread(memory, at);
    if (!thread) return thread.error();
    goes_on = visit(*thread);
    return Error{};
  });
}

ThreadList read_threads(const RuntimeMemory& memory) {
  ThreadList list;
  list.error = visit_threads(memory, [&list](const ManagedThread& thread) {
    list.threads.push_back(thread);
    return true;
  });
  if (list.error.code == ErrorCode::limit_exceeded) keep_first_of_each(list.threads);
  return list;
}

// Reads the whole list each time: the same number of threads may be others (the last one ended, a new one began), and a
// Thread not copied during the stop would be read later, when its Frames no longer fit the copied stack. Pages read
// before the stop cost next to nothing here (RootSource).
void ThreadRoots::collect(const MemoryReader& reader, std::vector<AddressRange>& out) {
  const RuntimeMemory memory(reader, *layouts_);
  const auto& l = *layouts_;
  const ThreadLinkReader links(memory);
  const auto head = links.head();
  if (!head || l.thread.extent == 0) return;
  CycleCheck cycle;
  auto link = memory.pointer_at(*head);
  for (std::size_t n = 0; link && *link != 0 && n < kMaxThreads && !cycle.is_again(*link); n++) {
    const Address thread = links.thread(*link);
    out.push_back({thread, thread + l.thread.extent});
    link = links.next(*link);
  }
  // The suspending thread must be read at the same instant as the modes of the threads.
  if (l.globals.gc_thread) out.push_back({l.globals.gc_thread.value, l.globals.gc_thread.value + l.pointer_size});
  if (gc_counts_) {
    out.push_back(gc_counts_->counts);
    out.push_back({gc_counts_->invalid, gc_counts_->invalid + sizeof(std::int32_t)});
  }
  // The list's head, so that the list can be walked over the copied bytes alone.
  out.push_back({*head, *head + l.pointer_size});
}

}  // namespace mixstack::dotnet
