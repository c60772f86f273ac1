// A chain of as many native frames as asked for. Compiled twice: with frame pointers, as the runtime's own code, and
// without, as the rest of libscen.so.
#include "scen.h"

// A frame of its own, whatever the compiler learns of the function.
#if defined(__clang__)
#define KEEP_FRAME __attribute__((noinline))
#else
#define KEEP_FRAME __attribute__((noipa))
#endif

extern "C" KEEP_FRAME int CHAIN(scen_callback callback, void* argument, int frames) {
  int result = frames <= 1 ? callback(argument) : CHAIN(callback, argument, frames - 1);
  asm volatile("" : "+r"(result)::"memory");
  return result + 1;
}
