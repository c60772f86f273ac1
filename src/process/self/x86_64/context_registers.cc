#include "process/self/context_registers.h"

namespace mixstack::process {

Address own_thread_pointer() {
  Address pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

}  // namespace mixstack::process
