// Ends by an exception of C++ that nothing catches: `uncaught WHAT`. With libholdabort.so it stands where it would
// abort.
#include <pthread.h>

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

namespace shop {

struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Says something else than what its base class holds.
struct Silent : std::runtime_error {
  using std::runtime_error::runtime_error;
  [[nodiscard]] const char* what() const noexcept override { return "nothing"; }
};
struct Plain {
  int code = 4711;
};
struct Marked {
  virtual ~Marked() = default;
};
struct Two : Marked, std::logic_error {
  using std::logic_error::logic_error;
};

[[noreturn]] __attribute__((noinline)) void give_up(const std::string& what) {
  if (what == "runtime") throw std::runtime_error("disk 4711 is full");
  if (what == "derived") throw Refused("order 4711 is refused");
  if (what == "silent") throw Silent("not this");
  if (what == "logic") throw std::out_of_range("4711 is beyond the end");
  if (what == "system") throw std::system_error(std::make_error_code(std::errc::timed_out), "order 4711");
  if (what == "number") throw 4711;
  if (what == "text") throw "text 4711";
  if (what == "plain") throw Plain{};
  if (what == "two") throw Two("two bases");
  if (what == "empty") throw std::runtime_error("");
  if (what == "long") throw std::runtime_error(std::string(5000, 'x'));
  if (what == "controls") throw std::runtime_error("bell \a and \x1b[31m colour");
  std::terminate();
}

__attribute__((noinline)) void nothing_throws(const std::string& what) noexcept { give_up(what); }

[[noreturn]] __attribute__((noinline)) void throws_again() {
  try {
    throw std::runtime_error("the first");
  } catch (const std::exception&) {
    throw std::runtime_error("the second");
  }
}

[[noreturn]] __attribute__((noinline)) void passes_on() {
  try {
    throw Refused("passed on");
  } catch (...) {
    throw;
  }
}

[[noreturn]] __attribute__((noinline)) void kept() {
  const std::exception_ptr held = std::make_exception_ptr(Refused("kept"));
  std::rethrow_exception(held);
}

void* in_a_thread(void*) { give_up("derived"); }

}  // namespace shop

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "assert") assert(argc == 4711);
  if (what == "noexcept") shop::nothing_throws("derived");
  if (what == "again") shop::throws_again();
  if (what == "passed") shop::passes_on();
  if (what == "kept") shop::kept();
  if (what == "thread") {
    pthread_t thread{};
    if (::pthread_create(&thread, nullptr, shop::in_a_thread, nullptr) != 0) return 1;
    ::pthread_join(thread, nullptr);
  }
  if (what == "while-handled") {  // direct: what is handled is not why
    try {
      shop::give_up("runtime");
    } catch (const std::exception&) {
      std::terminate();
    }
  }
  shop::give_up(what);
}
