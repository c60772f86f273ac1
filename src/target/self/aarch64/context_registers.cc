#include "target/self/context_registers.h"

namespace mixstack::target {

Address own_thread_pointer() {
  Address pointer;
  asm("mrs %0, tpidr_el0" : "=r"(pointer));
  return pointer;
}

}  // namespace mixstack::target
