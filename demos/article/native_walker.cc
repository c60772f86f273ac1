// The native-only walker: what a stack walker that knows nothing of .NET sees of the same process (elfutils' libdwfl,
// the engine of eu-stack). Managed frames are "??", and behind them the walk goes wrong or ends.
//   native_walker PID
#include <elfutils/libdwfl.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace {

int print_frame(Dwfl_Frame* frame, void*) {
  Dwarf_Addr pc = 0;
  bool is_activation = false;
  if (!dwfl_frame_pc(frame, &pc, &is_activation)) return DWARF_CB_ABORT;
  Dwfl* dwfl = dwfl_thread_dwfl(dwfl_frame_thread(frame));
  Dwfl_Module* module = dwfl_addrmodule(dwfl, pc);
  const char* name = module != nullptr ? dwfl_module_addrname(module, is_activation ? pc : pc - 1) : nullptr;
  std::printf("%016" PRIx64 " %s\n", pc, name != nullptr ? name : "??");
  return DWARF_CB_OK;
}

int print_thread(Dwfl_Thread* thread, void*) {
  std::printf("Thread %d\n", static_cast<int>(dwfl_thread_tid(thread)));
  if (dwfl_thread_getframes(thread, print_frame, nullptr) != 0)
    std::printf("(the walk ends here: %s)\n", dwfl_errmsg(-1));
  std::printf("\n");
  return DWARF_CB_OK;
}

}  // namespace

int main(int argc, char** argv) {
  const int pid = argc == 2 ? std::atoi(argv[1]) : 0;
  if (pid <= 0) {
    std::fprintf(stderr, "usage: native_walker PID\n");
    return 2;
  }
  char* debug_path = nullptr;
  const Dwfl_Callbacks callbacks{dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, &debug_path};
  Dwfl* dwfl = dwfl_begin(&callbacks);
  const bool attached = dwfl != nullptr && dwfl_linux_proc_report(dwfl, pid) == 0 &&
                        dwfl_report_end(dwfl, nullptr, nullptr) == 0 && dwfl_linux_proc_attach(dwfl, pid, false) == 0;
  if (!attached) {
    std::fprintf(stderr, "native_walker: %s\n", dwfl_errmsg(-1));
    return 1;
  }
  dwfl_getthreads(dwfl, print_thread, nullptr);
  dwfl_end(dwfl);
  return 0;
}
