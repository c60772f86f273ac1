#include "process/self/context_registers.h"

namespace mixstack::process {

Address own_thread_pointer() {
  Address pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}

}  // namespace mixstack::process
