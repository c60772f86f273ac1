/* Registers of a thread that is not on a CPU, as `struct user_pt_regs` (arch/arm64/include/uapi/asm/ptrace.h) has them:
 * the beginning of `struct pt_regs`. */
enum { kSavedBytes = 34 * 8 };

struct pt_regs {
  unsigned long sp, pc;
  int syscallno; /* kept apart: x8 may be anything after it */
} __attribute__((preserve_access_index));
struct thread_struct {
  struct {
    unsigned long tp_value;
  } uw;
} __attribute__((preserve_access_index));

#define PROGRAM_COUNTER(registers) ((registers)->pc)
#define SYSTEM_CALL(registers) ((registers)->syscallno)
#define THREAD_POINTER(task) ((task)->thread.uw.tp_value)
