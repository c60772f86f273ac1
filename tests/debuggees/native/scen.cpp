// Native half of the scenarios: functions a managed program calls to stand still, to call back, to take signals.
// Built with -O2 -fomit-frame-pointer, so that only call frame information leads through it.
#include "scen.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include <algorithm>
#include <atomic>
#include <vector>

// A frame of its own, whatever the compiler learns of the function.
#if defined(__clang__)
#define KEEP_FRAME __attribute__((noinline, optnone))
#else
#define KEEP_FRAME __attribute__((noipa))
#endif

namespace {

std::atomic<int> in_place{0};
std::atomic<long> signals_got{0};

void stand_still() {
  for (;;) {
    pause();
  }
}

// Keeps the compiler from turning a call in last position into a jump.
template <typename T>
T keep(T value) {
  asm volatile("" : "+r"(value)::"memory");
  return value;
}

void blocking_handler(int) {
  in_place.fetch_add(1);
  stand_still();
}

void counting_handler(int) { signals_got.fetch_add(1); }

volatile unsigned long read_registers[23];

void reading_handler(int, siginfo_t*, void* context) {
  const auto* registers = reinterpret_cast<const unsigned long*>(&static_cast<ucontext_t*>(context)->uc_mcontext);
  for (int i = 0; i < 23; i++) read_registers[i] = registers[i];
}

constexpr unsigned kTurns = 20'000, kComputed = kTurns * (kTurns - 1) / 2;
thread_local unsigned computed = 0;

void computing_handler(int) {
  unsigned sum = 0;
  for (unsigned i = 0; i < kTurns; i++) sum += keep(i);
  computed = sum;
}

// Inlined: the function that was called from managed code is to stand next to it on the stack.
inline int stay_or_return(const char* text) {
  if (keep(text)[0] == 's') scen_block();
  return keep(text)[0];
}

inline int call_or_block(const char* text, scen_callback callback) {
  if (callback == nullptr) scen_block();
  return keep(callback(const_cast<char*>(text)));
}

void* native_thread_main(void* argument) {
  scen_native_deep(static_cast<int>(reinterpret_cast<long>(argument)));
  return nullptr;
}

struct CallbackStart {
  scen_callback callback;
  void* argument;
};

void* callback_thread_main(void* argument) {
  CallbackStart start = *static_cast<CallbackStart*>(argument);
  std::free(argument);
  scen_call(start.callback, start.argument);
  return nullptr;
}

}  // namespace

extern "C" {

int scen_in_place() { return in_place.load(); }

void scen_block() {
  in_place.fetch_add(1);
  stand_still();
}

int scen_block_value(int value) {
  scen_block();
  return keep(value) + 1;
}

int scen_block_string(const char* text) {
  scen_block();
  return keep(text)[0];
}

int scen_open_door(const char* text) { return stay_or_return(text); }
int scen_launch_missile(const char* text) { return stay_or_return(text) + 1; }
int scen_feed_cat(const char* text) { return stay_or_return(text) + 2; }

int scen_ring(const char* text, scen_callback callback) { return call_or_block(text, callback); }
int scen_knock(const char* text, scen_callback callback) { return call_or_block(text, callback) + 1; }
int scen_enter(const char* text, scen_callback callback) { return call_or_block(text, callback) + 2; }

int scen_reset(void* statement) { return keep(statement) != nullptr; }
int scen_step(void* statement) {
  scen_block();
  return keep(statement) != nullptr;
}

int scen_block_struct(const ScenStrings* strings) {
  scen_block();
  return keep(strings)->count;
}

int scen_block_errno() {
  scen_block();
  errno = EAGAIN;
  return keep(-1);
}

int scen_fault(int* nowhere) {
  *keep(nowhere) = 1;
  return 1;
}

void scen_announce(int expected) {
  const timespec moment = {0, 300'000'000};
  do {
    nanosleep(&moment, nullptr);
  } while (in_place.load() < expected);
  dprintf(STDOUT_FILENO, "READY %d\n", getpid());
  stand_still();
}

void scen_spin() {
  in_place.fetch_add(1);
  unsigned long turns = 0;
  for (;;) {
    asm volatile("" : "+r"(turns));
    turns++;
  }
}

void scen_spin_confined(int strictly) {
  std::vector<sock_filter> filter;
  filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  const auto allow = [&](unsigned number) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  };
  for (const int number : {SYS_rt_sigreturn, SYS_rt_sigprocmask, SYS_process_vm_readv, SYS_getpid, SYS_mmap,
                           SYS_mprotect, SYS_munmap, SYS_sigaltstack})
    allow(static_cast<unsigned>(number));
  if (strictly == 0) allow(SYS_gettid);
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  const sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::perror("seccomp");
    return;
  }
  scen_spin();
}

int scen_call(scen_callback callback, void* argument) { return keep(callback(argument)) + 1; }

KEEP_FRAME int scen_call_deep(scen_callback callback, void* argument, int depth) {
  if (depth <= 0) {
    return scen_call(callback, argument);
  }
  return keep(scen_call_deep(callback, argument, depth - 1)) + 1;
}

int scen_call_errno(scen_callback callback, void* argument) {
  int result = keep(callback(argument));
  errno = ENOENT;
  return result;
}

int scen_call_string(scen_text_callback callback, const char* text) { return keep(callback(text)) + 1; }

int scen_return_then_block(void* argument) {
  auto visit = reinterpret_cast<scen_callback>(argument);
  int result = keep(visit(nullptr));
  scen_block();
  return result;
}

int scen_sort(int* values, long count, int (*compare)(const void*, const void*)) {
  qsort(values, static_cast<size_t>(count), sizeof(int), compare);
  return keep(values[0]);
}

KEEP_FRAME int scen_native_deep(int depth) {
  if (depth <= 0) {
    scen_block();
    return 0;
  }
  return keep(scen_native_deep(depth - 1)) + 1;
}

void scen_start_native_threads(int count, int depth) {
  for (int i = 0; i < count; i++) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, native_thread_main, reinterpret_cast<void*>(static_cast<long>(depth))) == 0) {
      pthread_setname_np(thread, "never-managed");
      pthread_detach(thread);
    }
  }
}

void scen_start_callback_thread(scen_callback callback, void* argument) {
  auto* start = static_cast<CallbackStart*>(std::malloc(sizeof(CallbackStart)));
  *start = {callback, argument};
  pthread_t thread;
  pthread_create(&thread, nullptr, callback_thread_main, start);
  pthread_setname_np(thread, "native-born");
  pthread_detach(thread);
}

int scen_gettid() { return static_cast<int>(syscall(SYS_gettid)); }

void scen_install_handler(int signal_number, int on_alternate_stack) {
  struct sigaction action = {};
  action.sa_handler = blocking_handler;
  action.sa_flags = SA_RESTART | (on_alternate_stack != 0 ? SA_ONSTACK : 0);
  sigaction(signal_number, &action, nullptr);
}

void scen_use_alternate_stack() {
  stack_t stack = {};
  stack.ss_size = 256 * 1024;
  stack.ss_sp = std::malloc(stack.ss_size);
  sigaltstack(&stack, nullptr);
}

void scen_count_signals(int signal_number) {
  struct sigaction action = {};
  action.sa_handler = counting_handler;
  action.sa_flags = SA_RESTART;
  sigaction(signal_number, &action, nullptr);
}

long scen_signals_got() { return signals_got.load(); }

int scen_signal_thread(int tid, int signal_number) {
  return static_cast<int>(syscall(SYS_tgkill, getpid(), tid, signal_number));
}

int scen_visit_alternate_stack(long size) {
  const size_t guard = 4096;
  auto* memory = static_cast<char*>(
      mmap(nullptr, guard + static_cast<size_t>(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED || mprotect(memory, guard, PROT_NONE) != 0) return 0;
  struct sigaction action = {};
  action.sa_handler = computing_handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  stack_t here = {}, before = {};
  here.ss_sp = memory + guard;
  here.ss_size = static_cast<size_t>(size);
  sigaltstack(&here, &before);
  computed = 0;
  raise(SIGUSR2);
  const bool is_right = computed == kComputed;
  sigaltstack(&before, nullptr);
  munmap(memory, guard + static_cast<size_t>(size));
  return keep(is_right ? 1 : 0);
}

namespace {

double now() {
  timespec t = {};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// The signal that has a value; of 0 the handler is ours.
siginfo_t signal_with(unsigned long value) {
  siginfo_t info = {};
  info.si_signo = value == 0 ? SIGUSR1 : SIGPROF;
  info.si_code = SI_QUEUE;
  info.si_value.sival_ptr = reinterpret_cast<void*>(value);
  if (value != 0) return info;
  struct sigaction action = {};
  action.sa_sigaction = reading_handler;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(info.si_signo, &action, nullptr);
  return info;
}

struct Sending {
  siginfo_t info;
  pid_t tid;
  int rounds;
  std::atomic<int> asked{0};
};

// Each time it is asked to, after a rest.
void* send_when_asked(void* of) {
  Sending& sending = *static_cast<Sending*>(of);
  for (int sent = 0; sent < sending.rounds;) {
    const timespec rest = {0, 200'000};
    nanosleep(&rest, nullptr);
    if (sending.asked.load() == sent) continue;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), sending.tid, sending.info.si_signo, &sending.info);
    sent++;
  }
  return nullptr;
}

}  // namespace

double scen_signal_gap(unsigned long value, int rounds) {
  Sending sending{signal_with(value), static_cast<pid_t>(scen_gettid()), rounds};
  pthread_t sender = {};
  if (rounds <= 0 || pthread_create(&sender, nullptr, send_when_asked, &sending) != 0) return 0;
  std::vector<double> gaps;
  for (int i = 0; i < rounds; i++) {
    sending.asked = i + 1;
    double longest = 0;
    const double end = now() + 1e6;
    for (double last = now(), t = last; last < end; last = t) {
      t = now();
      longest = std::max(longest, t - last);
    }
    gaps.push_back(longest);
  }
  pthread_join(sender, nullptr);
  std::nth_element(gaps.begin(), gaps.begin() + rounds / 2, gaps.end());
  return gaps[static_cast<std::size_t>(rounds / 2)];
}

double scen_signal_cost(unsigned long value, int rounds) {
  siginfo_t info = signal_with(value);
  const int number = info.si_signo;
  const pid_t pid = getpid(), tid = scen_gettid();
  double fastest = 1e12;
  for (int round = 0; round < rounds; round++) {
    // Fewer at once than the ring of samples holds, and time to empty it.
    const int signals = 200;
    const double start = now();
    for (int i = 0; i < signals; i++) syscall(SYS_rt_tgsigqueueinfo, pid, tid, number, &info);
    const double each = (now() - start) / signals;
    if (each < fastest) fastest = each;
    const timespec rest = {0, 30'000'000};
    nanosleep(&rest, nullptr);
  }
  return fastest;
}

int scen_vfork_parent(int seconds) {
  in_place.fetch_add(1);
  pid_t child = vfork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends with the test's debuggee
    struct timespec rest = {seconds, 0};
    nanosleep(&rest, nullptr);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return keep(status);
}

int scen_fork_child() {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Some milliseconds of CPU time, in which a timer that was inherited would strike.
    for (long i = 0; keep(i) < 2'000'000; i++) {
    }
    struct sigaction now = {};
    sigaction(SIGPROF, nullptr, &now);
    if (now.sa_handler != SIG_DFL) raise(SIGPROF);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return keep(status);
}

}  // extern "C"
