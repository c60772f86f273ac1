// The program in the kernel, compared with ptrace and /proc for the same threads.
#include "process/bpf/task_iterator.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <thread>

#include "process/bpf/bpf_refusal.h"
#include "process/bpf/kernel_state.h"
#include "process/bpf/unstopped_target.h"
#include "process/kernel/memory_map.h"
#include "process/live/live_target.h"
#include "process/live/test_process.h"

namespace mixstack::bpf {
namespace {

using namespace process::test;

void* sleeping_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) ::pause();
}
void* spinning_thread(void* shared) {
  static_cast<Shared*>(shared)->ready++;
  for (;;) static_cast<Shared*>(shared)->counter++;
}
/// Runs for an instant each time it is told to.
void* obedient_thread(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.values[0] = gettid_now();
  s.ready++;
  for (;;) {
    while (s.go == 0) nap(1ms);
    s.counter++;
    s.values[1] = 1;
    for (;;) ::pause();
  }
}
void run_threads(Shared& s, int sleeping, int spinning = 0) {
  for (int i = 0; i < sleeping; i++) start_thread(sleeping_thread, &s);
  for (int i = 0; i < spinning; i++) start_thread(spinning_thread, &s);
  s.ready++;
}
[[nodiscard]] bool all_wait(pid_t pid, std::size_t threads) {
  auto proc = process::ProcDir::open(static_cast<std::uint32_t>(pid));
  const auto tasks = proc ? proc->tasks() : Result<std::vector<ThreadId>>(std::vector<ThreadId>{});
  return tasks && tasks->size() == threads && std::all_of(tasks->begin(), tasks->end(), [&](ThreadId tid) {
           return state_of(pid, static_cast<pid_t>(tid)) == 'S';
         });
}
/// The lines of /proc/PID/task/TID/status that tell whether a thread ran.
[[nodiscard]] std::string switches_of(pid_t pid, ThreadId tid) {
  const std::string status = slurp("/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/status");
  return status.substr(std::min(status.find("voluntary_ctxt"), status.size()));
}

/// Whether this kernel lets programs iterate over tasks, as it says itself: a refusal of ours is a fault there.
[[nodiscard]] bool kernel_finds_moved() {
  utsname name{};
  int major = 0, minor = 0;
  return ::uname(&name) == 0 && std::sscanf(name.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 7));
}

class Iterator : public testing::Test {
 protected:
  /// Everything but a missing right is a fault.
  TaskIterator open(std::uint32_t pid, const IteratorOptions& options = {}) {
    auto iterator = TaskIterator::open(pid, options);
    EXPECT_TRUE(iterator.has_value()) << refusal_text(explain_bpf_refusal(iterator.error()), iterator.error());
    return std::move(*iterator);
  }
  void SetUp() override {
    const BpfFacts facts = read_bpf_facts();
    const auto refusal = explain_bpf_refusal({ErrorCode::permission_denied, EPERM, 0}, facts);
    if (refusal != BpfRefusal::none) GTEST_SKIP() << refusal_text(refusal, {});
  }
};

TEST_F(Iterator, RegistersAndStacksEqualThoseOfAStop) {
  constexpr std::size_t kThreads = 120;
  const TestProcess process([](Shared& s) { run_threads(s, kThreads - 1); }, kThreads);
  ASSERT_TRUE(process.is_ready() && eventually([&] { return all_wait(process.pid(), kThreads); }));
  auto iterator = open(process.id());
  const auto round = iterator.read();
  ASSERT_TRUE(round.has_value());
  ASSERT_EQ(round->size(), kThreads);
  auto stopped = process::open_live(process.id());
  CaptureRequest request;
  request.stop_timeout = 20s;
  auto capture = (*stopped)->capture(request);
  ASSERT_TRUE(capture.has_value());
  std::map<ThreadId, const ThreadCapture*> theirs;
  for (const ThreadCapture& t : capture->threads) theirs[t.tid] = &t;
  for (const ThreadState& ours : *round) {
    ASSERT_EQ(ours.look, Look::fresh);
    ASSERT_TRUE(theirs.contains(ours.tid));
    const ThreadCapture& other = *theirs[ours.tid];
    auto registers = ours.registers();
    ASSERT_TRUE(registers.has_value());
    Registers expected = other.registers;
    // Where the kernel hides the number of a call from a tracer (AArch64), a stop has put the pc of one that is made
    // again back to it before its tracer looks.
    if (ours.system_call >= 0 && expected.pc() + 4 == registers->registers.pc())
      expected.set_pc(registers->registers.pc());
    expected.forget(0);  // of a call that the stop interrupted, what it answers (rax, x0)
    registers->registers.forget(0);
    EXPECT_EQ(registers->registers, expected);
    EXPECT_EQ(registers->syscall, other.syscall);
    EXPECT_EQ(ours.kernel_state, 'S');
    EXPECT_EQ(ours.comm, other.comm);
    // A stack of ours ends with its mapping, theirs with the thread's control block.
    ASSERT_EQ(ours.stack.base, other.stack.base);
    const std::size_t common = std::min(ours.stack.bytes.size(), other.stack.bytes.size());
    ASSERT_GT(common, 300u);
    EXPECT_TRUE(std::equal(other.stack.bytes.begin(), other.stack.bytes.begin() + static_cast<std::ptrdiff_t>(common),
                           ours.stack.bytes.begin()));
  }
}

TEST_F(Iterator, WhatHasNotRunIsNotCopiedAgain) {
  const TestProcess process(
      [](Shared& s) {
        start_thread(obedient_thread, &s);
        run_threads(s, 10);
      },
      12);
  ASSERT_TRUE(process.is_ready());
  auto iterator = open(process.id());
  ASSERT_TRUE(iterator.read().has_value());
  process.shared().go = 1;
  ASSERT_TRUE(eventually([&] { return process.shared().counter == 1 && all_wait(process.pid(), 12); }));
  const auto obedient = static_cast<ThreadId>(process.shared().values[0]);
  for (const bool has_been_read : {false, true}) {
    const auto check = iterator.check();
    ASSERT_TRUE(check.has_value() && check->size() == 12u);
    for (const ThreadState& t : *check)
      EXPECT_EQ(t.look == Look::unchanged, has_been_read || t.tid != obedient) << t.tid;
    const auto round = iterator.read();
    ASSERT_TRUE(round.has_value());
    for (const ThreadState& t : *round) {
      EXPECT_EQ(t.look, !has_been_read && t.tid == obedient ? Look::fresh : Look::unchanged) << t.tid;
      EXPECT_EQ(t.stack.bytes.empty(), t.look == Look::unchanged);
    }
  }
}

TEST_F(Iterator, OnlyWhoHasRunIsToldWhenAsked) {
  const TestProcess process(
      [](Shared& s) {
        start_thread(obedient_thread, &s);
        run_threads(s, 10, 1);
      },
      13);
  ASSERT_TRUE(process.is_ready());
  auto iterator = open(process.id());
  const auto first = iterator.read_moved();
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(first->is_all);
  EXPECT_EQ(first->threads.size(), 13u);
  if (!kernel_finds_moved()) GTEST_SKIP() << "a kernel before 6.7";
  ASSERT_FALSE(iterator.read_moved()->is_all);
  process.shared().go = 1;
  const auto obedient = static_cast<ThreadId>(process.shared().values[0]);
  ASSERT_TRUE(eventually(
      [&] { return process.shared().values[1] != 0 && state_of(process.pid(), static_cast<pid_t>(obedient)) == 'S'; }));
  std::map<ThreadId, std::set<Look>> told;
  for (int i = 0; i < 3; i++) {
    const auto moved = iterator.read_moved();
    ASSERT_TRUE(moved.has_value());
    EXPECT_FALSE(moved->is_all);
    for (const ThreadState& t : moved->threads) told[t.tid].insert(t.look);
    if (i == 0) continue;
    for (const ThreadState& t : moved->threads) EXPECT_NE(t.tid, obedient) << "it has not run since";
  }
  EXPECT_EQ(told[obedient], std::set<Look>{Look::fresh});
  EXPECT_EQ(told.size(), 2u) << "and the one that computes";
  // A round over all knows what `read_moved` reported, and the other way round.
  const auto all = iterator.read();
  ASSERT_TRUE(all.has_value());
  EXPECT_GE(std::count_if(all->begin(), all->end(), [](const auto& t) { return t.look == Look::unchanged; }), 12)
      << "and perhaps the one that computes";
}

void* napping_thread(void* shared) {
  char deep[8 << 10];
  ::memset(deep, 1, sizeof deep);
  static_cast<Shared*>(shared)->ready++;
  for (;;) {
    nap(2ms);
    static_cast<Shared*>(shared)->values[2] += deep[7];
  }
}

TEST_F(Iterator, ManyThatHaveRunAreToldInParts) {
  constexpr int kThreads = 100;  // and 8 KiB of each, in parts of 256
  const TestProcess process(
      [](Shared& s) {
        for (int i = 0; i < kThreads; i++) start_thread(napping_thread, &s);
        run_threads(s, 1);
      },
      kThreads + 2);
  ASSERT_TRUE(process.is_ready());
  auto iterator = open(process.id());
  ASSERT_TRUE(iterator.read().has_value());
  for (const bool to_the_end : {false, true}) {
    std::this_thread::sleep_for(20ms);
    std::set<ThreadId> told;
    auto moved = iterator.read_moved();
    ASSERT_TRUE(moved.has_value());
    if (!kernel_finds_moved()) GTEST_SKIP() << "a kernel before 6.7";
    ASSERT_FALSE(moved->is_all);
    std::size_t parts = 0;
    for (auto part = moved->threads; !part.empty(); parts++) {
      for (const ThreadState& t : part) {
        EXPECT_TRUE(told.insert(t.tid).second) << "twice";
        EXPECT_TRUE(t.look != Look::fresh || t.stack.bytes.size() > (8u << 10));
      }
      if (!to_the_end) break;
      const auto more = iterator.read_more();
      ASSERT_TRUE(more.has_value());
      part = *more;
    }
    if (!to_the_end) {
      EXPECT_LT(told.size(), kThreads / 2u);
    } else {
      EXPECT_GE(told.size(), kThreads * 9 / 10u) << "also those that the round before did not come to";
      EXPECT_GE(parts, 3u);
    }
  }
}

TEST_F(Iterator, OfOtherThreadsAllAreTold) {
  const TestProcess process(
      [](Shared& s) {
        run_threads(s, 4);
        while (s.go == 0) nap(1ms);
        start_thread(sleeping_thread, &s);
        for (;;) ::pause();
      },
      5);
  ASSERT_TRUE(process.is_ready());
  auto iterator = open(process.id());
  ASSERT_TRUE(iterator.read_moved().has_value());
  if (!kernel_finds_moved()) GTEST_SKIP() << "a kernel before 6.7";
  ASSERT_FALSE(iterator.read_moved()->is_all);
  process.shared().go = 1;
  ASSERT_TRUE(eventually([&] { return process.shared().ready == 6; }));
  const auto born = iterator.read_moved();
  ASSERT_TRUE(born.has_value());
  EXPECT_TRUE(born->is_all);
  EXPECT_EQ(born->threads.size(), 6u);
}

TEST_F(Iterator, SaysWhereInTheKernelAThreadWaitsWhenAsked) {
  const TestProcess process([](Shared& s) { run_threads(s, 3); }, 4);
  ASSERT_TRUE(process.is_ready());
  IteratorOptions options;
  options.kernel_frames = 16;
  auto iterator = open(process.id(), options);
  auto plain = open(process.id());
  const auto round = iterator.read();
  const auto others = plain.read();
  ASSERT_TRUE(round.has_value() && others.has_value());
  ASSERT_EQ(round->size(), others->size());
  for (std::size_t i = 0; i < round->size(); i++) {
    const ThreadState &with = (*round)[i], &without = (*others)[i];
    ASSERT_EQ(with.look, Look::fresh);
    ASSERT_EQ(with.tid, without.tid);
    EXPECT_TRUE(without.kernel.empty());
    ASSERT_FALSE(with.kernel.empty());
    EXPECT_LE(with.kernel.size(), 16u);
    for (const Address address : with.kernel) EXPECT_GE(address, Address{1} << 63);
    EXPECT_EQ(with.stack.base, without.stack.base);
    EXPECT_TRUE(std::equal(with.stack.bytes.begin(), with.stack.bytes.end(), without.stack.bytes.begin(),
                           without.stack.bytes.end()));
  }
}

/// One processor for a thread that computes and for us: as long as we look it cannot be on it, and often it is we who
/// took its place. (Others on this machine do so, too.)
TEST_F(Iterator, WhoMadeRoomForUsIsLeftOutWhenAskedFor) {
  cpu_set_t all, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  CPU_ZERO(&one);
  for (unsigned i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
    if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  const TestProcess process([](Shared& s) { run_threads(s, 1, 1); }, 3);
  ASSERT_TRUE(process.is_ready());
  constexpr std::size_t kEnough = 10, kRounds = 300;
  std::array<std::size_t, 2> displaced{};
  for (const bool leaves : {false, true}) {
    auto iterator = open(process.id(), {.leaves_displaced = leaves});
    for (std::size_t i = 0; (leaves || i < kRounds) && i < 100 * kRounds && displaced[leaves] < kEnough; i++) {
      ::usleep(2000);
      const auto round = iterator.read();
      ASSERT_TRUE(round.has_value());
      for (const ThreadState& t : *round)
        if (t.look == Look::on_cpu) {
          displaced[leaves]++;
          EXPECT_EQ(t.kernel_state, 'R');
        }
    }
  }
  (void)::sched_setaffinity(0, sizeof all, &all);
  EXPECT_EQ(displaced[0], 0u);
  EXPECT_EQ(displaced[1], kEnough);
}

TEST_F(Iterator, NobodyRunsBecauseOfIt) {
  const TestProcess process([](Shared& s) { run_threads(s, 5); }, 6);
  ASSERT_TRUE(process.is_ready() && eventually([&] { return all_wait(process.pid(), 6); }));
  auto iterator = open(process.id());
  std::map<ThreadId, std::string> before;
  const auto first = iterator.read();
  ASSERT_TRUE(first.has_value());
  for (const ThreadState& t : *first) before[t.tid] = switches_of(process.pid(), t.tid);
  for (int i = 0; i < 50; i++) ASSERT_TRUE(iterator.read().has_value());
  ASSERT_EQ(before.size(), 6u);
  for (const auto& [tid, status] : before) EXPECT_EQ(switches_of(process.pid(), tid), status);
  EXPECT_TRUE(is_untraced(process.pid()));
}

TEST_F(Iterator, WhatHasNoRoomComesInTheNextRound) {
  constexpr std::size_t kThreads = 40;
  const TestProcess process([](Shared& s) { run_threads(s, kThreads - 1); }, kThreads);
  ASSERT_TRUE(process.is_ready() && eventually([&] { return all_wait(process.pid(), kThreads); }));
  auto iterator = open(process.id(), {.stack_bytes = 16 << 10, .room = 8 << 10});
  std::set<ThreadId> seen;
  int rounds = 0;
  for (; seen.size() < kThreads && rounds < 50; rounds++) {
    const auto round = iterator.read();
    ASSERT_TRUE(round.has_value() && round->size() == kThreads);
    for (const ThreadState& t : *round) EXPECT_TRUE(t.look != Look::fresh || seen.insert(t.tid).second);
  }
  EXPECT_EQ(seen.size(), kThreads);
  EXPECT_GT(rounds, 3);
}

TEST_F(Iterator, ThreadsThatAreBornAndEndDoNotConfuseIt) {
  const TestProcess process([](Shared& s) {
    s.ready++;
    for (;;) {
      start_thread([](void*) -> void* { return nap(200us), nullptr; }, nullptr);
      nap(300us);
    }
  });
  auto iterator = open(process.id());
  std::size_t most = 0;
  for (int i = 0; i < 300 || (most < 2 && i < 30'000); i++) {  // on a busy machine the first is born late
    const auto round = iterator.read();
    ASSERT_TRUE(round.has_value());
    for (const ThreadState& t : *round) {
      ASSERT_NE(t.tid, 0u);
      ASSERT_TRUE(t.look != Look::fresh || t.registers().has_value());
    }
    most = std::max(most, round->size());
  }
  EXPECT_GE(most, 2u);
}

/// Ends when it is told to; started in front of others, so that theirs are the places behind it.
void* ending_thread(void* shared) {
  auto& s = *static_cast<Shared*>(shared);
  s.ready++;
  while (s.go == 0) nap(1ms);
  s.counter++;
  return nullptr;
}

TEST_F(Iterator, WhoStaysIsKnownThoughOthersHaveEnded) {
  for (const int ending : {1, 3, 10}) {
    const TestProcess process(
        [&](Shared& s) {
          start_thread(sleeping_thread, &s);
          for (int i = 0; i < ending; i++) start_thread(ending_thread, &s);
          run_threads(s, 10);
        },
        ending + 12);
    ASSERT_TRUE(process.is_ready());
    auto iterator = open(process.id());
    ASSERT_TRUE(iterator.read().has_value());
    process.shared().go = 1;
    ASSERT_TRUE(eventually([&] { return all_wait(process.pid(), 12); }));
    const auto first = iterator.read();
    ASSERT_TRUE(first.has_value() && first->size() == 12u);
    std::size_t fresh = 0;
    for (const ThreadState& t : *first) {
      fresh += t.look == Look::fresh ? 1 : 0;
      EXPECT_TRUE(t.look == Look::unchanged || t.look == Look::fresh) << t.tid;
      EXPECT_TRUE(t.look != Look::fresh || t.registers().has_value()) << t.tid;
    }
    // Many that end side by side make those behind them as good as new, once.
    EXPECT_LE(fresh, ending > 3 ? 10u : 0u) << ending;
    const auto second = iterator.read();
    ASSERT_TRUE(second.has_value() && second->size() == 12u);
    for (const ThreadState& t : *second) EXPECT_EQ(t.look, Look::unchanged) << ending << " " << t.tid;
  }
}

TEST_F(Iterator, ThreadsThatComputeAreToldApart) {
  const TestProcess process([](Shared& s) { run_threads(s, 1, 1); }, 3);
  auto iterator = open(process.id());
  EXPECT_TRUE(eventually([&] {  // the machine may be so busy that it waits for a processor
    const auto round = iterator.read();
    return round && std::any_of(round->begin(), round->end(),
                                [](const ThreadState& t) { return t.look == Look::on_cpu && t.kernel_state == 'R'; });
  }));
  EXPECT_EQ(TaskIterator::open(process.id(), {.stack_bytes = 2 << 20}).error().code, ErrorCode::invalid_argument);
}

TEST_F(Iterator, AProcessThatEndsIsSaid) {
  auto process = std::make_unique<TestProcess>([](Shared& s) { s.ready++; });
  auto iterator = open(process->id());
  ASSERT_TRUE(iterator.read_moved().has_value());
  process.reset();
  EXPECT_EQ(iterator.read_moved().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(iterator.read().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(TaskIterator::open(0x3fffffff).error().code, ErrorCode::no_such_process);
}

TEST_F(Iterator, ACaptureOfWaitingThreadsIsComplete) {
  const TestProcess process([](Shared& s) { run_threads(s, 20); }, 21);
  ASSERT_TRUE(process.is_ready() && eventually([&] { return all_wait(process.pid(), 21); }));
  auto unstopped = open_unstopped(process.id());
  ASSERT_TRUE(unstopped.has_value());
  for (int i = 0; i < 2; i++) {  // the second time nothing is fresh
    const auto capture = (*unstopped)->capture({});
    ASSERT_TRUE(capture.has_value());
    EXPECT_EQ(capture->consistency, Consistency::not_stopped);
    EXPECT_EQ(capture->pause.count(), 0);
    ASSERT_EQ(capture->threads.size(), 21u);
    for (const ThreadCapture& t : capture->threads) {
      EXPECT_TRUE(t.captured && !t.stack_truncated);
      EXPECT_LE(t.stack.base, t.registers.sp());
      EXPECT_GT(t.stack.range().end, t.registers.sp());
    }
  }
}

TEST(KernelState, LettersAreThoseOfProc) {
  const std::array<std::pair<unsigned, char>, 9> states{{{0, 'R'},
                                                         {0x1, 'S'},
                                                         {0x2, 'D'},
                                                         {0x402, 'I'},
                                                         {0x4, 'T'},
                                                         {0x8, 't'},
                                                         {0x40, 'P'},
                                                         {0x1000, 'D'},    // a lock of a kernel for real time
                                                         {0x8000, 'D'}}};  // the cgroup freezer
  for (const auto& [state, letter] : states) EXPECT_EQ(state_letter(state, 0), letter) << state;
  EXPECT_EQ(state_letter(0, 0x20), 'Z');
  EXPECT_EQ(state_letter(0, 0x10), 'X');
}

TEST(BpfRefusal, TheFirstThingInTheWayIsNamed) {
  const Error denied{ErrorCode::permission_denied, EPERM, 0};
  const BpfFacts all{true, 6, 1, true, true, false, false, false};
  const auto with = [&](auto change) {
    BpfFacts facts = all;
    change(facts);
    return explain_bpf_refusal(denied, facts);
  };
  EXPECT_EQ(explain_bpf_refusal(denied, all), BpfRefusal::none);
  EXPECT_EQ(explain_bpf_refusal({ErrorCode::unsupported, EINVAL, 0}, all), BpfRefusal::other);
  EXPECT_EQ(explain_bpf_refusal({ErrorCode::no_such_process, 0, 0}, BpfFacts{}), BpfRefusal::none);
  EXPECT_EQ(explain_bpf_refusal({ErrorCode::limit_exceeded, ENOMEM, 0}, all), BpfRefusal::memory);
  EXPECT_EQ(with([](BpfFacts& f) { f.is_built_in = false; }), BpfRefusal::not_built_in);
  EXPECT_EQ(with([](BpfFacts& f) { f.kernel_major = 5, f.kernel_minor = 17; }), BpfRefusal::old_kernel);
  EXPECT_EQ(with([](BpfFacts& f) { f.has_types = false; }), BpfRefusal::no_types);
  EXPECT_EQ(with([](BpfFacts& f) { f.may_load = false; }), BpfRefusal::no_rights);
  EXPECT_EQ(with([](BpfFacts& f) { f.in_user_namespace = true; }), BpfRefusal::user_namespace);
  EXPECT_EQ(with([](BpfFacts& f) { f.is_locked_down = true; }), BpfRefusal::lockdown);
  EXPECT_EQ(with([](BpfFacts& f) { f.has_filter = true; }), BpfRefusal::filter);
  const std::string text = refusal_text(BpfRefusal::no_rights, denied);
  EXPECT_NE(text.find("CAP_BPF and CAP_PERFMON\nUse sudo /"), std::string::npos) << text;
  EXPECT_EQ(text.find("PATH/"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("SYS_PTRACE. Or leave out --no-stop.\n")) << text;
  EXPECT_TRUE(refusal_text(BpfRefusal::old_kernel, denied).ends_with("or later\nLeave out --no-stop.\n"));
  EXPECT_EQ(refusal_text(BpfRefusal::none, denied), "");
}

}  // namespace
}  // namespace mixstack::bpf
