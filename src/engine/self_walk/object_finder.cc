#include "engine/self_walk/object_finder.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

// Weak: older glibcs and other libcs lack it. Another name here, so that <dlfcn.h> may declare its own.
extern "C" [[gnu::weak]] int mixstack_find_object(void*, void*) asm("_dl_find_object");
// The same, looked up by a library itself, or null: the agent must not require a glibc that has it.
extern "C" [[gnu::weak]] int (*mixstack_linkers_find_object)(void*, void*);

namespace mixstack::self_walk {
namespace {

/// struct dl_find_object (glibc manual, "Dynamic Linker Introspection") of CPUs where it has no further fields: x86-64
/// and AArch64.
struct FoundObject {
  unsigned long long flags = 0;
  void* map_start = nullptr;
  void* map_end = nullptr;
  void* link_map = nullptr;
  void* eh_frame = nullptr;
  unsigned long long reserved[7] = {};
};

[[nodiscard]] Address address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

struct Listing {
  std::vector<LoadedObject> objects;
  std::uint64_t changes = 0;  ///< loads and unloads so far
};

int note_object(dl_phdr_info* info, std::size_t, void* data) {
  auto& listing = *static_cast<Listing*>(data);
  listing.changes = info->dlpi_adds + info->dlpi_subs;
  LoadedObject object{{~Address{0}, 0}, 0};
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const auto& p = info->dlpi_phdr[i];
    if (p.p_type == PT_GNU_EH_FRAME) object.eh_frame_hdr = info->dlpi_addr + p.p_vaddr;
    if (p.p_type != PT_LOAD) continue;
    object.range.begin = std::min<Address>(object.range.begin, (info->dlpi_addr + p.p_vaddr) & ~Address{0xfff});
    object.range.end = std::max<Address>(object.range.end, info->dlpi_addr + p.p_vaddr + p.p_memsz);
  }
  if (!object.range.empty()) listing.objects.push_back(object);
  return 0;
}

int note_changes(dl_phdr_info* info, std::size_t, void* data) {
  *static_cast<std::uint64_t*>(data) = info->dlpi_adds + info->dlpi_subs;
  return 1;
}

}  // namespace

/// Handlers read it during updates: an entry that is being changed is skipped.
class ObjectFinder::List {
 public:
  bool find(Address address, LoadedObject& out) const {
    const std::size_t count = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; i++) {
      const Entry& e = entries_[i];
      const std::uint32_t turn = e.turn.load(std::memory_order_acquire);
      const LoadedObject o{{e.begin.load(std::memory_order_relaxed), e.end.load(std::memory_order_relaxed)},
                           e.eh_frame_hdr.load(std::memory_order_relaxed)};
      std::atomic_thread_fence(std::memory_order_acquire);
      if (turn % 2 != 0 || !o.range.contains(address) || e.turn.load(std::memory_order_relaxed) != turn) continue;
      out = o;
      return true;
    }
    return false;
  }
  void update() {
    std::uint64_t changes = 0;
    dl_iterate_phdr(note_changes, &changes);
    if (changes == changes_) return;
    Listing now;
    dl_iterate_phdr(note_object, &now);
    // Entries that stay keep their place, so that they are found throughout.
    std::array<bool, kMost> stays{};
    std::size_t used = count_.load(std::memory_order_relaxed);
    std::vector<LoadedObject> fresh;
    for (const LoadedObject& o : now.objects) {
      std::size_t i = 0;
      while (i < used && !entries_[i].is(o)) i++;
      if (i < used) {
        stays[i] = true;
      } else {
        fresh.push_back(o);
      }
    }
    for (std::size_t i = 0; i < used; i++) {
      if (stays[i]) continue;
      entries_[i].set(fresh.empty() ? LoadedObject() : fresh.back());
      if (!fresh.empty()) fresh.pop_back();
    }
    for (; !fresh.empty() && used < kMost; fresh.pop_back()) entries_[used++].set(fresh.back());
    count_.store(used, std::memory_order_release);
    changes_ = now.changes;
  }

 private:
  static constexpr std::size_t kMost = 1024;
  struct Entry {
    std::atomic<std::uint32_t> turn{0};  ///< odd: it changes
    std::atomic<Address> begin{0}, end{0}, eh_frame_hdr{0};

    [[nodiscard]] bool is(const LoadedObject& o) const {
      return begin.load(std::memory_order_relaxed) == o.range.begin &&
             end.load(std::memory_order_relaxed) == o.range.end &&
             eh_frame_hdr.load(std::memory_order_relaxed) == o.eh_frame_hdr;
    }
    void set(const LoadedObject& o) {
      turn.fetch_add(1, std::memory_order_acq_rel);
      std::atomic_thread_fence(std::memory_order_release);
      begin.store(o.range.begin, std::memory_order_relaxed);
      end.store(o.range.end, std::memory_order_relaxed);
      eh_frame_hdr.store(o.eh_frame_hdr, std::memory_order_relaxed);
      turn.fetch_add(1, std::memory_order_release);
    }
  };

  std::array<Entry, kMost> entries_;
  std::atomic<std::size_t> count_{0};
  std::uint64_t changes_ = 0;  // the updater's
};

ObjectFinder::ObjectFinder(Way way) {
  if (way == Way::linker)
    find_object_ = &mixstack_linkers_find_object != nullptr ? mixstack_linkers_find_object : mixstack_find_object;
  if (find_object_ != nullptr) return;
  list_ = std::make_shared<List>();
  list_->update();
}

void ObjectFinder::update() const {
  if (list_ != nullptr) list_->update();
}

bool ObjectFinder::find(Address address, LoadedObject& out) const {
  if (find_object_ == nullptr) return list_->find(address, out);
  FoundObject found;
  if (find_object_(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), &found) != 0) return false;
  out = {{address_of(found.map_start), address_of(found.map_end)}, address_of(found.eh_frame)};
  return true;
}

}  // namespace mixstack::self_walk
