// Processes that a careless look would harm. guest MODE [ARGUMENTS]; prints "READY" when it stands as described.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kPage = 4096;
std::atomic<int> ready{0};
int wanted = 1;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::_Exit(1);
}

void stand_ready() {
  if (++ready == wanted) {
    std::printf("READY %d\n", ::getpid());
    std::fflush(stdout);
  }
}

extern "C" __attribute__((noinline)) void guest_innermost() {
  stand_ready();
  for (;;) ::pause();
}

/// Uses `bytes` of the stack: all of it, or only its last page.
extern "C" __attribute__((noinline)) void guest_deep(std::size_t bytes, bool touch) {
  auto* block = static_cast<volatile char*>(__builtin_alloca(bytes));
  for (std::size_t at = 0; touch && at < bytes; at += kPage) block[at] = 1;
  guest_innermost();
  block[0] = 2;
}

struct Fiber {
  char* stack;
  std::size_t size, use;
  bool touch;
};
thread_local Fiber current;
thread_local ucontext_t home, fiber_context;

extern "C" __attribute__((noinline)) void guest_fiber_main() { guest_deep(current.use, current.touch); }

void* run_fiber(void* argument) {
  current = *static_cast<Fiber*>(argument);
  ::getcontext(&fiber_context);
  fiber_context.uc_stack.ss_sp = current.stack;
  fiber_context.uc_stack.ss_size = current.size;
  fiber_context.uc_link = &home;
  ::makecontext(&fiber_context, guest_fiber_main, 0);
  ::swapcontext(&home, &fiber_context);
  return nullptr;
}

void start(void* (*body)(void*), void* argument, std::size_t stack = 256 << 10) {
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, stack);
  if (pthread_create(&thread, &attributes, body, argument) != 0) fail("pthread_create");
}

char* map_shared(std::size_t size) {
  const int fd = static_cast<int>(::syscall(SYS_memfd_create, "guest", 0));
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0) fail("memfd");
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) fail("mmap");
  return static_cast<char*>(at);
}

char* map_private(std::size_t size) {
  void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) fail("mmap");
  return static_cast<char*>(at);
}

/// A stack in a large shared mapping, of which only a few pages are there.
void shared_stack() {
  char* memory = map_shared(64 << 20);
  static Fiber fiber{memory, 256 << 10, 1000, true};
  start(run_fiber, &fiber);
}

/// Fibers with stacks of 64 KiB in one arena.
void arena(std::size_t megabytes, int fibers) {
  wanted = fibers;
  char* memory = map_private(megabytes << 20);
  std::memset(memory, 1, megabytes << 20);
  for (int i = 0; i < fibers; i++)
    start(run_fiber, new Fiber{memory + static_cast<std::size_t>(i) * (64 << 10), 64 << 10, 1000, true});
}

/// A fiber that has used more of its stack than is copied at once.
void deep_fiber() {
  char* memory = map_private(64 << 20);
  static Fiber fiber{memory, 8 << 20, 700 << 10, true};
  start(run_fiber, &fiber);
}

int faults = -1;
void* serve_faults(void*) {
  for (;;) {
    uffd_msg message;
    if (::read(faults, &message, sizeof message) != sizeof message) return nullptr;
    uffdio_zeropage zero{};
    zero.range = {message.arg.pagefault.address & ~static_cast<unsigned long long>(kPage - 1), kPage};
    ::ioctl(faults, UFFDIO_ZEROPAGE, &zero);
  }
}

/// A stack with pages that a thread of this process serves.
void served_stack() {
  faults = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
  uffdio_api api{UFFD_API, 0, 0};
  char* memory = map_private(1 << 20);
  uffdio_register range{};
  range.range = {reinterpret_cast<unsigned long long>(memory), 1 << 20};
  range.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (faults < 0 || ::ioctl(faults, UFFDIO_API, &api) != 0 || ::ioctl(faults, UFFDIO_REGISTER, &range) != 0)
    fail("userfaultfd");
  start(serve_faults, nullptr);
  static Fiber fiber{memory, 1 << 20, 40 << 10, false};
  start(run_fiber, &fiber);
}

void* sleep_for_ever(void*) {
  guest_innermost();
  return nullptr;
}

std::atomic<unsigned long> counter{0};
extern "C" __attribute__((noinline)) void guest_spin() {
  stand_ready();
  for (;;) counter++;
}
void* spin_for_ever(void*) {
  guest_spin();
  return nullptr;
}

extern "C" void guest_recurse(std::size_t bytes);
void (*volatile recurse_again)(std::size_t) = guest_recurse;  // the compiler would find that it never returns
extern "C" __attribute__((noinline)) void guest_recurse(std::size_t bytes) {
  volatile char frame[1000];
  std::memset(const_cast<char*>(frame), 1, sizeof frame);
  if (bytes < sizeof frame) guest_innermost();
  recurse_again(bytes - sizeof frame);
  frame[0] = 0;  // no tail call
}
void* recurse(void* bytes) {
  guest_recurse(reinterpret_cast<std::size_t>(bytes));
  return nullptr;
}

/// Ordinary threads that have used so much of their stacks.
void deep_threads(int count, std::size_t megabytes) {
  wanted = count;
  for (int i = 0; i < count; i++) start(recurse, reinterpret_cast<void*>(megabytes << 20), (megabytes << 20) * 2);
}

void threads(int sleeping, int spinning) {
  wanted = sleeping + spinning;
  for (int i = 0; i < sleeping; i++) start(sleep_for_ever, nullptr);
  for (int i = 0; i < spinning; i++) start(spin_for_ever, nullptr);
}

using Work = void (*)(void (*)());
extern "C" __attribute__((noinline)) void guest_leaf() {
  for (int i = 0; i < 300; i++) asm volatile("");
}

/// Two libraries in turn, mostly in the same place.
[[noreturn]] void alternate(const std::vector<std::string>& libraries) {
  stand_ready();
  for (std::size_t i = 0;; i++) {
    void* library = ::dlopen(libraries[i % libraries.size()].c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) fail(::dlerror());
    const auto work = reinterpret_cast<Work>(::dlsym(library, "plugin_work"));
    for (int n = 0; n < 100; n++) work(guest_leaf);
    ::dlclose(library);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return argc > i ? std::atoi(argv[i]) : 1; };
  if (mode == "shared_stack") {
    shared_stack();
  } else if (mode == "arena") {
    arena(static_cast<std::size_t>(number(2)), number(3));
  } else if (mode == "deep_fiber") {
    deep_fiber();
  } else if (mode == "served_stack") {
    served_stack();
  } else if (mode == "threads") {
    threads(number(2), number(3));
  } else if (mode == "deep_threads") {
    deep_threads(number(2), static_cast<std::size_t>(number(3)));
  } else if (mode == "leader_ends") {
    threads(2, 0);
    ::pthread_exit(nullptr);
  } else if (mode == "alternate") {
    alternate({argv + 2, argv + argc});
  } else {
    std::fprintf(stderr, "guest: what is '%s'?\n", mode.c_str());
    return 2;
  }
  for (;;) ::pause();
}
