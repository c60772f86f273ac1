/* Registers of a thread that is not on a CPU, as `struct user_regs_struct` (arch/x86/include/asm/user_64.h) has them:
 * its first words are those of `struct pt_regs` (arch/x86/include/asm/ptrace.h). */
enum { kSavedBytes = 21 * 8 };

struct pt_regs {
  unsigned long ip, sp;
} __attribute__((preserve_access_index));
struct thread_struct {
  unsigned long fsbase;
} __attribute__((preserve_access_index));

#define PROGRAM_COUNTER(registers) ((registers)->ip)
#define SYSTEM_CALL(registers) (-1) /* orig_rax is one of the registers */
#define THREAD_POINTER(task) ((task)->thread.fsbase)
