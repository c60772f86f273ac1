// The native library that managed code calls, and that calls managed code.
#include <cstdio>

namespace mixed_lib {

// Without frame pointers and with -O2: the walk needs call frame information here.
[[gnu::noinline]] int add_abc(const int* n, int (*add_ab)(int, int)) { return n[2] + add_ab(n[0], n[1]); }
[[gnu::noinline]] int add_abcd(const int* n, int (*add_ab)(int, int)) { return n[3] + add_abc(n, add_ab); }

}  // namespace mixed_lib

extern "C" int mixed_add_abcd(const int* n, int (*add_ab)(int, int)) { return mixed_lib::add_abcd(n, add_ab); }

extern "C" int mixed_read_line() {
  char line[64];
  return std::fgets(line, sizeof line, stdin) == nullptr ? 0 : 1;
}
