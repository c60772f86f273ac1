// A native program that stands still inside a signal handler.
//   handler [alt]       with "alt" the handler runs on an alternate stack; prints READY <pid> from within
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void on_fault(int, siginfo_t*, void*) {
  char line[32];
  int length = std::snprintf(line, sizeof line, "READY %d\n", getpid());
  if (write(STDOUT_FILENO, line, static_cast<size_t>(length)) != length) {
    _exit(1);
  }
  for (;;) {
    pause();
  }
}

// The fault is at the very first instruction: the interrupted address is no return address, and one byte
// before it belongs to another function.
#if defined(__aarch64__)
#define UNDEFINED_INSTRUCTION "udf #0"
#else
#define UNDEFINED_INSTRUCTION "ud2"
#endif
extern "C" int fault_at_first_instruction();
asm(R"(
        .text
        .globl fault_at_first_instruction
        .type fault_at_first_instruction, %function
fault_at_first_instruction:
        .cfi_startproc
        )" UNDEFINED_INSTRUCTION R"(
        ret
        .cfi_endproc
        .size fault_at_first_instruction, .-fault_at_first_instruction
)");

__attribute__((noinline)) int middle(int value) {
  int result = fault_at_first_instruction();
  asm volatile("" : "+r"(result));
  return result + value;
}

}  // namespace

int main(int count, char** arguments) {
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  if (count > 1 && std::strcmp(arguments[1], "alt") == 0) {
    stack_t stack = {};
    stack.ss_size = 64 * 1024;
    stack.ss_sp = std::malloc(stack.ss_size);
    sigaltstack(&stack, nullptr);
    action.sa_flags |= SA_ONSTACK;
  }
  sigaction(SIGILL, &action, nullptr);
  int result = middle(count);
  asm volatile("" : "+r"(result));
  return result;
}
