#include "target/self/context_registers.h"

namespace mixstack::target {

Address own_thread_pointer() {
  Address pointer;
  asm("movq %%fs:0, %0" : "=r"(pointer));
  return pointer;
}

}  // namespace mixstack::target
