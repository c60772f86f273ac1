// libdw driven as perf's util/unwind-libdw.c drives it: callbacks for memory and registers, modules reported by path.
#pragma once

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include "unwind_walkers.h"

namespace bench {

class LibdwWalker final : public Walker {
 public:
  ~LibdwWalker() override {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }
  void prepare(const SnapshotFile& file) override {
    file_ = &file;
    static const Dwfl_Callbacks callbacks{dwfl_linux_proc_find_elf, no_debuginfo, dwfl_offline_section_address,
                                          nullptr};
    dwfl_ = dwfl_begin(&callbacks);
    dwfl_report_begin(dwfl_);
    for (const auto& m : file.modules) dwfl_report_elf(dwfl_, m.path.data(), m.path.data(), -1, m.begin, false);
    dwfl_report_end(dwfl_, nullptr, nullptr);
    static const Dwfl_Thread_Callbacks threads{next_thread, nullptr, read_memory, set_registers, nullptr, nullptr};
    dwfl_attach_state(dwfl_, nullptr, 1, &threads, this);
  }
  Frames walk(const Snapshot& snapshot) override {
    snapshot_ = &snapshot;
    frames_ = {};
    dwfl_getthread_frames(dwfl_, 1, on_frame, this);
    return frames_;
  }

 private:
  static int no_debuginfo(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*, GElf_Word, char**) {
    return -1;
  }
  static pid_t next_thread(Dwfl*, void* self, void** state) {
    if (*state != nullptr) return 0;
    *state = self;
    return 1;
  }
  static bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* out, void* self) {
    std::uint64_t word = 0;
    if (!static_cast<LibdwWalker*>(self)->snapshot_->stack.word(address, word)) return false;
    *out = word;
    return true;
  }
  static bool set_registers(Dwfl_Thread* thread, void* self) {
    const auto& registers = static_cast<LibdwWalker*>(self)->snapshot_->registers;
    Dwarf_Word words[17];
    for (unsigned r = 0; r < 17; r++) words[r] = registers.value_or_zero(r);
    return dwfl_thread_state_registers(thread, 0, 17, words);
  }
  static int on_frame(Dwfl_Frame* frame, void* self) {
    Dwarf_Addr pc = 0;
    if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
    return static_cast<LibdwWalker*>(self)->frames_.add(pc) ? DWARF_CB_OK : DWARF_CB_ABORT;
  }

  Dwfl* dwfl_ = nullptr;
  const SnapshotFile* file_ = nullptr;
  const Snapshot* snapshot_ = nullptr;
  Frames frames_;
};

}  // namespace bench
