// The native library that managed code calls, and that calls managed code.
#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace mixed_lib {

// Without frame pointers and with -O2: the walk needs call frame information here.
[[gnu::noinline]] int add_abc(const int* n, int (*add_ab)(int, int)) { return n[2] + add_ab(n[0], n[1]); }
[[gnu::noinline]] int add_abcd(const int* n, int (*add_ab)(int, int)) { return n[3] + add_abc(n, add_ab); }

}  // namespace mixed_lib

extern "C" int mixed_add_abcd(const int* n, int (*add_ab)(int, int)) { return mixed_lib::add_abcd(n, add_ab); }

/// What a native walker sees from inside: glibc's own, which knows no managed code.
extern "C" void mixed_print_native_view() {
  void* addresses[64];
  const int count = backtrace(addresses, 64);
  for (int i = 0; i < count; i++) {
    Dl_info image{};
    const bool is_known = dladdr(addresses[i], &image) != 0 && image.dli_fname != nullptr;
    if (!is_known || image.dli_sname == nullptr) {
      std::printf("%p ?? (%s)\n", addresses[i], is_known ? image.dli_fname : "no image");
      continue;
    }
    const std::unique_ptr<char, decltype(&std::free)> name(
        abi::__cxa_demangle(image.dli_sname, nullptr, nullptr, nullptr), &std::free);
    std::printf("%p %s\n", addresses[i], name ? name.get() : image.dli_sname);
  }
  std::fflush(stdout);
}

extern "C" int mixed_read_line() {
  char line[64];
  return std::fgets(line, sizeof line, stdin) == nullptr ? 0 : 1;
}
