#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/self_walk/module_records.h"

namespace mixstack::self_walk {
namespace {

struct Object {
  LoadedObject object{{~Address{0}, 0}, 0};
  std::string_view file_name, soname;
  std::vector<std::string_view> needed;
  bool is_initial = false;
};

[[nodiscard]] std::string_view file_name(const char* path) {
  const std::string_view text = path == nullptr ? "" : path;
  return text.substr(text.rfind('/') + 1);
}

/// Entries of the dynamic section that name libraries. glibc has replaced the string table's address by the one in
/// memory; if not (the vDSO, other libcs) the load bias must be added.
void read_dynamic(Object& out, const Elf64_Dyn* dynamic, Address bias) {
  Address strings = 0;
  for (const auto* d = dynamic; d->d_tag != DT_NULL; d++)
    if (d->d_tag == DT_STRTAB) strings = d->d_un.d_ptr;
  if (strings == 0) return;
  if (!out.object.range.contains(strings)) strings += bias;
  if (!out.object.range.contains(strings)) return;
  const auto text = [&](std::uint64_t offset) {
    return std::string_view(reinterpret_cast<const char*>(static_cast<std::uintptr_t>(strings + offset)));
  };
  for (const auto* d = dynamic; d->d_tag != DT_NULL; d++) {
    if (d->d_tag == DT_NEEDED) out.needed.push_back(text(d->d_un.d_val));
    if (d->d_tag == DT_SONAME) out.soname = text(d->d_un.d_val);
  }
}

int collect(dl_phdr_info* info, std::size_t, void* data) {
  Object o;
  const Elf64_Dyn* dynamic = nullptr;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const auto& p = info->dlpi_phdr[i];
    const Address at = info->dlpi_addr + p.p_vaddr;
    if (p.p_type == PT_GNU_EH_FRAME) o.object.eh_frame_hdr = at;
    if (p.p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const Elf64_Dyn*>(static_cast<std::uintptr_t>(at));
    if (p.p_type != PT_LOAD) continue;
    o.object.range.begin = std::min<Address>(o.object.range.begin, at);
    o.object.range.end = std::max<Address>(o.object.range.end, at + p.p_memsz);
  }
  o.file_name = file_name(info->dlpi_name);
  if (dynamic != nullptr) read_dynamic(o, dynamic, info->dlpi_addr);
  static_cast<std::vector<Object>*>(data)->push_back(std::move(o));
  return 0;
}

}  // namespace

std::vector<LoadedObject> initial_objects() {
  std::vector<Object> all;
  dl_iterate_phdr(collect, &all);
  std::vector<std::size_t> reached;
  std::vector<LoadedObject> out;
  const auto reach = [&](std::size_t i) {
    if (all[i].is_initial) return;
    all[i].is_initial = true;
    reached.push_back(i);
    out.push_back(all[i].object);
  };
  if (!all.empty()) reach(0);  // the program itself comes first
  for (std::size_t next = 0; next < reached.size(); next++) {
    for (const std::string_view name : all[reached[next]].needed) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const Object& o) {
        return o.soname == name || o.file_name == file_name(name.data());
      });
      if (found != all.end()) reach(static_cast<std::size_t>(found - all.begin()));
    }
  }
  return out;
}

}  // namespace mixstack::self_walk
