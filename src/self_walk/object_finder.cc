#include "self_walk/object_finder.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <vector>

// Looked up weakly: older glibcs and other libcs do not have it. Named apart, so that <dlfcn.h> may declare its own.
extern "C" [[gnu::weak]] int mixstack_find_object(void*, void*) asm("_dl_find_object");

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
  unsigned long long changes = 0;  ///< loads and unloads so far
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

}  // namespace

struct ObjectFinder::Listed : Listing {};

ObjectFinder::ObjectFinder() : find_object_(mixstack_find_object) {
  if (find_object_ != nullptr) return;
  auto listed = std::make_shared<Listed>();
  dl_iterate_phdr(note_object, static_cast<Listing*>(listed.get()));
  listed_ = std::move(listed);
}

bool ObjectFinder::is_stale() const {
  if (listed_ == nullptr) return false;
  Listing now;
  dl_iterate_phdr(note_object, &now);
  return now.changes != listed_->changes;
}

bool ObjectFinder::find(Address address, LoadedObject& out) const {
  if (find_object_ != nullptr) {
    FoundObject found;
    if (find_object_(reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), &found) != 0) return false;
    out = {{address_of(found.map_start), address_of(found.map_end)}, address_of(found.eh_frame)};
    return true;
  }
  for (const LoadedObject& object : listed_->objects) {
    if (!object.range.contains(address)) continue;
    out = object;
    return true;
  }
  return false;
}

}  // namespace mixstack::self_walk
