// libunwind's unw_step on a remote address space, driven as perf's util/unwind-libunwind-local.c drives it: the search
// table of .eh_frame_hdr is handed over, memory comes from the copied stack and the files.
#pragma once

#include <libunwind.h>

#include <map>

#include "unwind_walkers.h"

/// The exported helper perf uses too (its declaration is in no installed header).
extern "C" int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t, unw_word_t, unw_dyn_info_t*, unw_proc_info_t*, int,
                                                  void*);

namespace bench {

class LibunwindWalker final : public Walker {
 public:
  explicit LibunwindWalker(unw_caching_policy_t policy) : policy_(policy) {}
  ~LibunwindWalker() override {
    if (space_ != nullptr) unw_destroy_addr_space(space_);
  }
  void prepare(const SnapshotFile& file) override {
    file_ = &file;
    static unw_accessors_t accessors{find_proc_info, put_info,   no_list, read_memory,
                                     read_register,  read_float, resume,  no_name};
    space_ = unw_create_addr_space(&accessors, 0);
    unw_set_caching_policy(space_, policy_);
  }
  Frames walk(const Snapshot& snapshot) override {
    snapshot_ = &snapshot;
    Frames frames;
    unw_cursor_t cursor;
    if (unw_init_remote(&cursor, space_, this) != 0) return frames;
    for (unw_word_t ip = 0;;) {
      unw_get_reg(&cursor, UNW_REG_IP, &ip);
      if (!frames.add(ip) || unw_step(&cursor) <= 0) return frames;
    }
  }

 private:
  struct Module {
    std::shared_ptr<const mixstack::images::ElfImage> image;
    mixstack::images::Section header;
    std::uint32_t count = 0;
  };
  const Module& open(const t2::FileModule& m) {
    auto [it, added] = images_.try_emplace(m.begin);
    if (!added) return it->second;
    it->second.image = open_image(m.path.data());
    if (it->second.image != nullptr) it->second.header = it->second.image->unwind_sections().eh_frame_hdr;
    if (it->second.header.bytes.size() >= 12) std::memcpy(&it->second.count, it->second.header.bytes.data() + 8, 4);
    return it->second;
  }
  static int find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t* info, int need, void* self) {
    auto* walker = static_cast<LibunwindWalker*>(self);
    const auto* m = walker->file_->module_at(ip);
    if (m == nullptr) return -UNW_ENOINFO;
    const Module& module = walker->open(*m);
    if (module.count == 0) return -UNW_ENOINFO;
    unw_dyn_info_t table{};
    table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    table.start_ip = m->begin;
    table.end_ip = m->end;
    table.u.rti.segbase = m->begin + module.header.address;
    table.u.rti.table_data = m->begin + module.header.address + 12;
    table.u.rti.table_len = module.count * 8 / sizeof(unw_word_t);
    return _Ux86_64_dwarf_search_unwind_table(space, ip, &table, info, need, self);
  }
  static int read_memory(unw_addr_space_t, unw_word_t address, unw_word_t* out, int write, void* self) {
    auto* walker = static_cast<LibunwindWalker*>(self);
    std::uint64_t word = 0;
    if (write == 0 && walker->snapshot_->stack.word(address, word)) {
      *out = word;
      return 0;
    }
    const auto* m = write == 0 ? walker->file_->module_at(address) : nullptr;
    if (m == nullptr) return -UNW_EINVAL;
    const Module& module = walker->open(*m);
    const auto bytes = module.image ? module.image->bytes_at(address - m->begin, 8) : std::span<const std::byte>{};
    if (bytes.empty()) return -UNW_EINVAL;
    std::memcpy(out, bytes.data(), 8);
    return 0;
  }
  static int read_register(unw_addr_space_t, unw_regnum_t reg, unw_word_t* out, int write, void* self) {
    if (write != 0) return -UNW_EREADONLYREG;
    // libunwind's numbers are the DWARF numbers on x86-64.
    *out = reg >= 0 && reg <= 16
               ? static_cast<LibunwindWalker*>(self)->snapshot_->registers.value_or_zero(static_cast<unsigned>(reg))
               : 0;
    return 0;
  }
  static void put_info(unw_addr_space_t, unw_proc_info_t*, void*) {}
  static int no_list(unw_addr_space_t, unw_word_t*, void*) { return -UNW_ENOINFO; }
  static int read_float(unw_addr_space_t, unw_regnum_t, unw_fpreg_t*, int, void*) { return -UNW_EINVAL; }
  static int resume(unw_addr_space_t, unw_cursor_t*, void*) { return -UNW_EINVAL; }
  static int no_name(unw_addr_space_t, unw_word_t, char*, size_t, unw_word_t*, void*) { return -UNW_EINVAL; }

  unw_caching_policy_t policy_;
  unw_addr_space_t space_ = nullptr;
  const SnapshotFile* file_ = nullptr;
  const Snapshot* snapshot_ = nullptr;
  std::map<std::uint64_t, Module> images_;
};

}  // namespace bench
