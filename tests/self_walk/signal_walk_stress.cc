// Walks from SIGPROF in threads that allocate, load and unload libraries, throw exceptions, sort, and come and go.
//   signal_walk_stress SECONDS PLUGIN...
// Each walk is checked against what the thread itself says its stack must be. Prints counts; fails on any difference.
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "allocations.h"
#include "mixstack/self_walk.h"
#include "plugin.h"
#include "shadow_stack.h"

// Each marked function lies in a section of its own, whose bounds the linker names.
#define MARKED(name) __attribute__((noinline, section("marked_" #name)))
#define CODE_OF(name) \
  mixstack::AddressRange { address_of(__start_marked_##name), address_of(__stop_marked_##name) }
#define DECLARE_MARKED(name)                     \
  extern "C" const char __start_marked_##name[]; \
  extern "C" const char __stop_marked_##name[];
DECLARE_MARKED(worker)
DECLARE_MARKED(dive)
DECLARE_MARKED(thrower)
DECLARE_MARKED(catcher)
DECLARE_MARKED(compare)
DECLARE_MARKED(called_back)
DECLARE_MARKED(aligned)

namespace {

using mixstack::Address;
using mixstack::StopReason;
using self_walk_test::Mark;
using self_walk_test::ShadowStack;

constexpr std::size_t kMostFrames = 256;
constexpr long kNanosecondsBetween = 500'000;

Address address_of(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

struct Counts {
  std::atomic<std::uint64_t> walks = 0, right = 0, cut = 0, mismatches = 0, in_unwinder = 0, changed_errno = 0,
                             frames = 0;
  std::atomic<std::uint64_t> plain = 0, probed = 0, pages = 0, rules = 0, in_handler = 0;
  std::atomic<std::uint64_t> stops[16] = {};
};
Counts g_counts;
mixstack::SelfWalker* g_walker = nullptr;
std::vector<std::string> g_plugins;
std::atomic<bool> g_stop = false;
std::atomic<int> g_reported = 0;
mixstack::AddressRange g_libgcc;
thread_local ShadowStack t_shadow;
thread_local std::uint64_t t_random = 1;

std::uint64_t random_number() {
  return t_random = t_random * 6364136223846793005u + 1442695040888963407u, t_random >> 33;
}

void report(const char* what, const mixstack::SelfTrace& trace, std::span<const Address> frames) {
  if (g_reported++ > 4) return;
  char line[160];
  int n = std::snprintf(line, sizeof(line), "%s: stop %d, %zu frames, shadow depth %zu\n", what,
                        static_cast<int>(trace.stop), trace.count, t_shadow.depth());
  if (write(2, line, static_cast<std::size_t>(n)) < 0) return;
  for (const Address a : frames) {
    n = std::snprintf(line, sizeof(line), "  %llx\n", static_cast<unsigned long long>(a));
    if (write(2, line, static_cast<std::size_t>(n)) < 0) return;
  }
}

/// Before GCC's unwinder enters a landing pad it writes that address, and the registers to be restored, over its own
/// return address and saved registers (uw_install_context in unwind-dw2.c). For those instructions the stack is not
/// what the unwinder's call frame information says: nobody can walk it.
bool is_in_unwinder(std::span<const Address> frames) {
  for (std::size_t i = 0; i < frames.size() && i < 3; i++)
    if (g_libgcc.contains(frames[i])) return true;
  return false;
}

void note(const mixstack::SelfTrace& trace, std::span<const Address> frames) {
  g_counts.walks++;
  g_counts.frames += trace.count;
  g_counts.plain += trace.plain_frames;
  g_counts.probed += trace.probed_frames;
  g_counts.pages += trace.pages_probed;
  g_counts.rules += trace.rules_found;
  g_counts.stops[static_cast<std::size_t>(trace.stop) % 16]++;
  const bool is_whole = trace.stop == StopReason::end_of_stack;
  const bool is_as_said = t_shadow.matches(frames);
  if (is_whole && is_as_said) {
    g_counts.right++;
  } else if (is_in_unwinder(frames)) {
    g_counts.in_unwinder++;
  } else {
    (is_as_said ? g_counts.cut : g_counts.mismatches)++;
    report(is_as_said ? "cut" : "mismatch", trace, frames);
  }
}

void handle(int, siginfo_t*, void* context) {
  Address out[kMostFrames];
  errno = 4711;
  self_walk_test::set_in_walk(true);
  auto trace = g_walker->walk(context, out);
  self_walk_test::set_in_walk(false);
  if (errno != 4711) g_counts.changed_errno++;
  note(trace, std::span(out, trace.count));
  // The same from the handler itself, through the kernel's signal frame.
  if (g_counts.walks % 8 != 0) return;
  self_walk_test::set_in_walk(true);
  trace = g_walker->walk_here(out);
  self_walk_test::set_in_walk(false);
  g_counts.in_handler++;
  note(trace, std::span(out, trace.count));
}

/// A timer that sends SIGPROF to this thread: of its CPU time, or of the clock, which also meets it waiting for locks.
class ThreadTimer {
 public:
  explicit ThreadTimer(bool of_cpu_time) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGPROF;
    event._sigev_un._tid = static_cast<pid_t>(syscall(SYS_gettid));
    if (timer_create(of_cpu_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &event, &timer_) != 0) std::abort();
    const itimerspec often{{0, kNanosecondsBetween}, {0, kNanosecondsBetween}};
    if (timer_settime(timer_, 0, &often, nullptr) != 0) std::abort();
  }
  ~ThreadTimer() { timer_delete(timer_); }
  ThreadTimer(const ThreadTimer&) = delete;
  ThreadTimer& operator=(const ThreadTimer&) = delete;

 private:
  timer_t timer_{};
};

void allocate_some() {
  std::vector<std::unique_ptr<std::string>> strings;
  for (int i = 0; i < 60; i++) strings.push_back(std::make_unique<std::string>(random_number() % 700 + 1, 'x'));
}

MARKED(thrower) void throw_deep(int depth) {
  const Mark mark(t_shadow, CODE_OF(thrower));
  if (depth == 0) throw std::runtime_error("as planned");
  throw_deep(depth - 1);
  asm volatile("");
}

MARKED(catcher) void catch_some() {
  const Mark mark(t_shadow, CODE_OF(catcher));
  for (int i = 0; i < 5; i++) {
    try {
      throw_deep(static_cast<int>(random_number() % 6));
    } catch (const std::runtime_error& e) {
      if (std::strcmp(e.what(), "as planned") != 0) std::abort();
    }
  }
}

MARKED(compare) int compare(const void* a, const void* b) {
  const Mark mark(t_shadow, CODE_OF(compare));
  int x = 0, y = 0;
  std::memcpy(&x, a, sizeof(x));
  std::memcpy(&y, b, sizeof(y));
  return x < y ? -1 : (x > y ? 1 : 0);
}

/// libc's frames between ours.
void sort_some() {
  std::vector<int> numbers(200);
  for (int& n : numbers) n = static_cast<int>(random_number());
  std::qsort(numbers.data(), numbers.size(), sizeof(int), compare);
}

/// A frame that aligns its stack: its CFA is found through memory, by an expression.
MARKED(aligned) long aligned_frame(std::size_t size) {
  const Mark mark(t_shadow, CODE_OF(aligned));
  alignas(64) volatile char block[128];
  auto* extra = static_cast<volatile char*>(__builtin_alloca(size));
  block[0] = 1;
  extra[0] = 1;
  allocate_some();
  return block[0] + extra[0];
}

MARKED(called_back) long called_back(void* data) {
  const Mark mark(t_shadow, CODE_OF(called_back));
  for (int i = 0; i < 3; i++) allocate_some();
  catch_some();
  return static_cast<long*>(data)[0];
}

void load_and_call() {
  void* library = dlopen(g_plugins[random_number() % g_plugins.size()].c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) std::abort();
  const auto call = reinterpret_cast<PluginCall>(dlsym(library, "plugin_call"));
  const auto range = reinterpret_cast<PluginRange>(dlsym(library, "plugin_range"));
  const char *begin = nullptr, *end = nullptr;
  range(&begin, &end);
  long number = 1;
  {
    // Pushed for the plugin, which does not know of us, and only around the call: the marks inside lie above it.
    struct Data {
      long number;
      mixstack::AddressRange code;
    } data{number, {address_of(begin), address_of(end)}};
    number = call(
        [](void* d) {
          const Mark plugin(t_shadow, static_cast<Data*>(d)->code);
          return called_back(&static_cast<Data*>(d)->number);
        },
        &data);
  }
  if (number == 0) std::abort();
  dlclose(library);
}

MARKED(dive) void dive(int depth) {
  const Mark mark(t_shadow, CODE_OF(dive));
  if (depth > 0) {
    dive(depth - 1);
  } else {
    switch (random_number() % 5) {
      case 0:
        allocate_some();
        break;
      case 1:
        catch_some();
        break;
      case 2:
        load_and_call();
        break;
      case 3:
        sort_some();
        break;
      default:
        (void)aligned_frame(random_number() % 300 + 1);
    }
  }
  asm volatile("");
}

MARKED(worker) void worker(std::uint64_t seed, bool is_known, unsigned rounds) {
  t_random = seed;
  self_walk_test::set_in_walk(false);  // makes the thread's variables, before the first signal
  const Mark mark(t_shadow, CODE_OF(worker));
  if (is_known && !g_walker->add_thread()) std::abort();
  {
    const ThreadTimer timer(seed % 4 == 0);
    for (unsigned i = 0; i < rounds && !g_stop; i++) dive(static_cast<int>(random_number() % 12));
  }
  if (is_known) g_walker->remove_thread();
}

mixstack::AddressRange range_of_library(const char* symbol) {
  // PT_LOADs of the library that holds the function, by its neighbours in /proc/self/maps.
  Dl_info info{};
  void* function = dlsym(RTLD_DEFAULT, symbol);
  if (function == nullptr || dladdr(function, &info) == 0) return {};
  mixstack::AddressRange range{address_of(info.dli_fbase), address_of(info.dli_fbase)};
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[512];
  while (maps != nullptr && std::fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line, "%lx-%lx", &begin, &end) == 2 && std::strstr(line, "libgcc_s") != nullptr) range.end = end;
  }
  if (maps != nullptr) std::fclose(maps);
  return range;
}

int print_result(double seconds) {
  const auto& c = g_counts;
  const std::uint64_t in_walks = self_walk_test::allocations_in_walks();
  std::printf("%.0f s: %lu walks (%lu of them through the signal frame), %lu frames: %lu plain, %lu others\n", seconds,
              c.walks.load(), c.in_handler.load(), c.frames.load(), c.plain.load(), c.probed.load());
  std::printf("%lu pages probed, %lu rules found, %lu allocations in all, %lu in walks, errno changed %lu times\n",
              c.pages.load(), c.rules.load(), self_walk_test::allocations(), in_walks, c.changed_errno.load());
  std::printf("whole and right %lu, in gcc's unwinder %lu, cut %lu, not as the thread says %lu\n", c.right.load(),
              c.in_unwinder.load(), c.cut.load(), c.mismatches.load());
  for (std::size_t i = 0; i < 16; i++)
    if (c.stops[i] != 0) std::printf("stop reason %zu: %lu\n", i, c.stops[i].load());
  const bool enough = static_cast<double>(c.walks) > 20 * seconds;
  const bool all_right = c.right + c.in_unwinder == c.walks && c.in_unwinder * 50 <= c.walks;
  const bool good = enough && all_right && in_walks == 0 && c.changed_errno == 0;
  std::printf("%s\n", good ? "all walks are right" : "FAILED");
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const double seconds = std::atof(argv[1]);
  for (int i = 2; i < argc; i++) g_plugins.emplace_back(argv[i]);
  auto walker = mixstack::SelfWalker::create();
  if (!walker) return 1;
  g_walker = walker->get();
  catch_some();  // so that the unwinder is loaded
  g_libgcc = range_of_library("_Unwind_Resume");

  struct sigaction action {};
  action.sa_sigaction = handle;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGPROF, &action, nullptr);
  const auto start = std::time(nullptr);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 3; i++) threads.emplace_back([i] { worker(i + 1, i % 2 == 0, ~0u); });
  // Short-lived ones beside them, and the walker made larger when it wants to.
  for (std::uint64_t seed = 100; static_cast<double>(std::time(nullptr) - start) < seconds; seed++) {
    std::thread(worker, seed, seed % 2 == 0, 200u).join();
    if (!g_walker->refresh()) return 1;
  }
  g_stop = true;
  for (auto& t : threads) t.join();
  return print_result(seconds);
}
