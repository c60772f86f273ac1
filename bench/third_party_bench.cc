// LINK: mixstack_session -l:libdw.so.1 -lunwind-ptrace -lunwind-x86_64 -lunwind
// A stopped thread of another process, 37 native frames deep: copying its stack and walking it, against libdwfl and
// libunwind's ptrace accessors on the same thread in the same run. Then ten walkers on ten processes, one after the
// other and at once.
//   third_party_bench [rounds]
#include <elfutils/libdwfl.h>
#include <libunwind-ptrace.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "engine/images/file_bytes.h"
#include "engine/images/module_map.h"
#include "engine/unwind/rule_step.h"
#include "mixstack/session.h"
#include "process/kernel/memory_map.h"

namespace {

using namespace mixstack;
using Clock = std::chrono::steady_clock;

constexpr int kDepth = 33;  // and main, _start and two of libc: 37
constexpr int kWalkers = 10;
constexpr std::size_t kStackBytes = 16 << 10;

volatile int sink;

template <int N>
[[gnu::noinline]] int go_down(int x) {
  volatile char local[16 + (N % 7) * 24];
  local[0] = static_cast<char>(x);
  int below = 0;
  if constexpr (N == 0) {
    for (;;) ::pause();
  } else {
    below = go_down<N - 1>(x + local[0]);
  }
  return below + local[0] + N;
}

/// A child that waits at the bottom of its calls.
class Child {
 public:
  Child() : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    sink = go_down<kDepth>(1);
    ::_exit(0);
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, __WALL);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
};

bool stop(pid_t pid) {
  int status = 0;
  return ::ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 && ::ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0 &&
         ::waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

/// Median microseconds of `work`, which answers how many frames it saw.
double median_us(int rounds, int& frames, const std::function<int()>& work) {
  std::vector<double> times;
  for (int i = 0; i < rounds; i++) {
    const auto begin = Clock::now();
    frames = work();
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

class Ours {
 public:
  explicit Ours(pid_t pid) : pid_(pid) {
    session_ = Session::open_process(static_cast<std::uint32_t>(pid));
    const auto regions = (*session_)->target().regions();
    modules_ = images::ModuleMap::build(*regions, (*session_)->target().memory(),
                                        [this](const Region& r) { return (*session_)->target().open_file(r); });
    std::vector<unwind::NativeModule> list;
    for (ModuleIndex i = 0; i < modules_.modules().size(); i++) {
      const auto& m = modules_.modules()[i];
      for (const AddressRange& r : m.executable) list.push_back({r, m.load_bias, i, nullptr});
    }
    stepper_.set_modules(
        unwind::NativeModules(std::move(list), [this](ModuleIndex i) -> std::shared_ptr<const unwind::UnwindTable> {
          auto image = modules_.image(i);
          return image ? unwind::UnwindTable::create(*image) : nullptr;
        }));
  }

  int copy_and_walk() {
    user_regs_struct regs{};
    iovec set{&regs, sizeof regs};
    if (::ptrace(PTRACE_GETREGSET, pid_, 1 /* NT_PRSTATUS */, &set) != 0) return 0;
    const iovec local{stack_.data(), stack_.size()};
    const iovec remote{reinterpret_cast<void*>(regs.rsp), stack_.size()};
    const ssize_t n = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
    Registers registers(Arch::x86_64);
    namespace reg = x86_64_reg;
    const std::pair<unsigned, std::uint64_t> values[] = {
        {reg::rbx, regs.rbx}, {reg::rbp, regs.rbp}, {reg::rsp, regs.rsp}, {reg::r12, regs.r12},
        {reg::r13, regs.r13}, {reg::r14, regs.r14}, {reg::r15, regs.r15}, {reg::rip, regs.rip}};
    for (const auto& [number, value] : values) registers.set(number, value);
    const StackView view{regs.rsp, stack_.data(), n > 0 ? static_cast<std::size_t>(n) : 0, nullptr};
    auto frame = unwind::LightFrame::innermost(registers);
    int frames = 1;
    while (stepper_.light<Arch::x86_64, true>(frame, view).status == unwind::RuleStatus::caller && frames < 200)
      frames++;
    return frames;
  }

 private:
  pid_t pid_;
  Result<std::unique_ptr<Session>> session_ = fail(ErrorCode::internal);
  images::ModuleMap modules_;
  unwind::RuleStepper stepper_{Arch::x86_64};
  std::vector<std::byte> stack_ = std::vector<std::byte>(kStackBytes);
};

int count_dwfl_frame(Dwfl_Frame* frame, void* count) {
  Dwarf_Addr pc = 0;
  if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
  ++*static_cast<int*>(count);
  return DWARF_CB_OK;
}

double measure_dwfl(pid_t pid, int rounds, int& frames) {
  char* debug_path = nullptr;
  const Dwfl_Callbacks callbacks{dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, &debug_path};
  Dwfl* dwfl = dwfl_begin(&callbacks);
  dwfl_linux_proc_report(dwfl, pid);
  dwfl_report_end(dwfl, nullptr, nullptr);
  dwfl_linux_proc_attach(dwfl, pid, true);  // it is stopped, by us
  const double us = median_us(rounds, frames, [&] {
    int count = 0;
    dwfl_getthread_frames(dwfl, pid, count_dwfl_frame, &count);
    return count;
  });
  dwfl_end(dwfl);
  return us;
}

double measure_libunwind(pid_t pid, int rounds, int& frames) {
  unw_addr_space_t space = unw_create_addr_space(&_UPT_accessors, 0);
  unw_set_caching_policy(space, UNW_CACHE_GLOBAL);
  void* argument = _UPT_create(pid);
  const double us = median_us(rounds, frames, [&] {
    unw_cursor_t cursor;
    if (unw_init_remote(&cursor, space, argument) != 0) return 0;
    int count = 1;
    while (unw_step(&cursor) > 0) count++;
    return count;
  });
  _UPT_destroy(argument);
  unw_destroy_addr_space(space);
  return us;
}

void measure_one(int rounds) {
  const Child child;
  ::usleep(50'000);
  Ours ours(child.pid());
  if (!stop(child.pid())) {
    std::perror("stop");
    return;
  }
  int our_frames = 0, dwfl_frames = 0, libunwind_frames = 0;
  (void)ours.copy_and_walk();
  const double us = median_us(rounds, our_frames, [&] { return ours.copy_and_walk(); });
  const double dwfl = measure_dwfl(child.pid(), rounds / 10, dwfl_frames);
  const double libunwind = measure_libunwind(child.pid(), rounds / 10, libunwind_frames);
  std::printf("registers, copy of 16 KiB and walk: %.2f us for %d frames (goal: 6 us for 37)\n", us, our_frames);
  std::printf("libdwfl:   %8.2f us for %d frames: %.1fx (goal 4x)\n", dwfl, dwfl_frames, dwfl / us);
  std::printf("libunwind: %8.2f us for %d frames: %.1fx (goal 11x)\n", libunwind, libunwind_frames, libunwind / us);
}

/// Walks captured stacks over and over: what a sampling tool does while its targets run.
std::size_t walk_rounds(Session& session, int rounds) {
  std::size_t frames = 0;
  DumpOptions options;
  options.stop_timeout = std::chrono::milliseconds(500);
  for (int i = 0; i < rounds; i++) {
    auto capture = session.capture(options);
    if (!capture) continue;
    auto walker = session.walker(std::move(*capture), {});
    if (!walker) continue;
    for (int again = 0; again < 200; again++)
      for (const ThreadCapture& t : walker->capture().threads) frames += walker->walk(t).frames.size();
  }
  return frames;
}

void measure_parallel() {
  std::vector<Child> children(kWalkers);
  ::usleep(50'000);
  std::vector<std::unique_ptr<Session>> sessions;
  for (const Child& c : children)
    if (auto s = Session::open_process(static_cast<std::uint32_t>(c.pid()))) sessions.push_back(std::move(*s));
  constexpr int kRounds = 30;
  std::size_t frames = 0;
  for (auto& s : sessions) frames += walk_rounds(*s, 1);  // tables are made
  const auto begin = Clock::now();
  frames = 0;
  for (auto& s : sessions) frames += walk_rounds(*s, kRounds);
  const double one = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto begin_all = Clock::now();
  std::vector<std::thread> threads;
  std::vector<std::size_t> counts(sessions.size());
  for (std::size_t i = 0; i < sessions.size(); i++)
    threads.emplace_back([&, i] { counts[i] = walk_rounds(*sessions[i], kRounds); });
  for (std::thread& t : threads) t.join();
  const double all = std::chrono::duration<double>(Clock::now() - begin_all).count();
  std::size_t frames_all = 0;
  for (const std::size_t c : counts) frames_all += c;
  std::printf(
      "%d walkers, %d processes: %.3f s in turn (%zu frames), %.3f s at once (%zu frames), %.2fx on %u cores (goal "
      "1.8x on 2)\n",
      kWalkers, kWalkers, one, frames, all, frames_all, one / all, std::thread::hardware_concurrency());
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 20'000;
  measure_one(rounds);
  measure_parallel();
  return 0;
}
