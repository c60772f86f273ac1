// The events of a debugger and the fate of its threads, by reports made by hand.
#include "process/debugger/report_handler.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <unistd.h>

#include <csignal>

namespace mixstack::process {
namespace {

using Kind = DebugEventKind;
using State = Tracee::State;

// No process has such numbers (PID_MAX_LIMIT is 4,194,304): whatever the kernel is asked to do with them, it refuses.
constexpr ThreadId kMain = 5'000'000, kSecond = kMain + 1, kThird = kMain + 2, kStranger = kMain + 100;

int stop_status(int signal, int event = 0) { return (signal | event << 8) << 8 | 0x7f; }

class Reports : public testing::Test {
 protected:
  /// A process of three threads that run, whose program is ours.
  void SetUp() override {
    auto program = Program::open(static_cast<std::uint32_t>(::getpid()));
    ASSERT_TRUE(program.has_value());
    process_ = table_.add(kMain, std::move(*program), {});
    for (const ThreadId tid : {kMain, kSecond, kThird}) (void)process_->add_thread(tid);
    (void)events();
  }
  void report(ThreadId tid, int status) { handler_.handle(decode_wait_status(tid, status)); }
  void stop_all() {
    for (const ThreadId tid : {kMain, kSecond, kThird}) report(tid, stop_status(SIGTRAP, PTRACE_EVENT_STOP));
  }
  [[nodiscard]] State state_of(ThreadId tid) { return process_->threads.find(tid)->state; }

  struct Told {
    Kind kind;
    ThreadId tid = 0;
    int value = 0;
    friend bool operator==(const Told&, const Told&) = default;
    friend void PrintTo(const Told& t, std::ostream* out) {
      *out << "{kind " << static_cast<int>(t.kind) << ", tid " << t.tid << ", value " << t.value << "}";
    }
  };
  /// Since the last call.
  std::vector<Told> events() {
    std::vector<Told> out;
    while (const auto event = queue_.pop()) {
      EXPECT_EQ(event->pid, kMain);
      out.push_back({event->kind, event->tid, event->value});
    }
    return out;
  }
  using Tolds = std::vector<Told>;

  EventQueue queue_;
  ProcessTable table_{queue_, [](const ProcessPointer&) { return nullptr; }};
  Strays strays_;
  ReportHandler handler_{table_, strays_};
  ProcessPointer process_;
};

TEST(EventQueue, IsBoundedForWhatAProcessCausesAtAnyRate) {
  for (const Kind kind : {Kind::signalled, Kind::thread_created, Kind::thread_exited, Kind::forked,
                          Kind::library_loaded, Kind::library_unloaded, Kind::execed}) {
    EventQueue queue;
    for (int i = 0; i < 140'000; i++) queue.push({.kind = kind});
    EXPECT_EQ(queue.size() + queue.lost(), 140'000u);
    EXPECT_GT(queue.lost(), 0u) << static_cast<int>(kind);
    queue.push({.kind = Kind::exited});
    EXPECT_EQ(queue.size() + queue.lost(), 140'001u);
    const auto lost = queue.lost();
    queue.push({.kind = Kind::exited});
    EXPECT_EQ(queue.lost(), lost) << "an end is told always";
  }
}

TEST_F(Reports, AStopThatNobodyWantsAnyMoreIsOverAtOnce) {
  stop_all();
  EXPECT_EQ(state_of(kSecond), State::running);
  EXPECT_EQ(events(), Tolds{});
}

TEST_F(Reports, AHeldProcessIsReportedOnceWhenTheLastThreadStandsStill) {
  process_->hold_all();
  EXPECT_FALSE(process_->status.is_running());
  stop_all();
  EXPECT_EQ(state_of(kSecond), State::stopped);
  EXPECT_EQ(events(), (Tolds{{Kind::stopped}}));
  process_->resume();
  EXPECT_TRUE(process_->status.is_running());
  EXPECT_EQ(state_of(kSecond), State::running);
  process_->hold_all();
  stop_all();
  EXPECT_EQ(events(), (Tolds{{Kind::stopped}})) << "once for each pause";
}

TEST_F(Reports, ASignalIsToldAndDeliveredBeforeTheThreadIsHeld) {
  process_->hold_all();
  report(kSecond, stop_status(SIGUSR1));
  EXPECT_EQ(events(), (Tolds{{Kind::signalled, kSecond, SIGUSR1}}));
  EXPECT_EQ(state_of(kSecond), State::running) << "its next stop comes before its next instruction";
  stop_all();
  EXPECT_EQ(events(), (Tolds{{Kind::stopped}}));
}

TEST_F(Reports, ASignalAtWhichTheProcessIsHeldWaits) {
  process_->options.hold_at = DebugEventSet().with(Kind::signalled);
  report(kSecond, stop_status(SIGUSR1));
  EXPECT_EQ(state_of(kSecond), State::stopped);
  EXPECT_EQ(process_->threads.find(kSecond)->signal, SIGUSR1);
  report(kMain, stop_status(SIGTRAP, PTRACE_EVENT_STOP));
  report(kThird, stop_status(SIGTRAP, PTRACE_EVENT_STOP));
  EXPECT_EQ(events(), (Tolds{{Kind::signalled, kSecond, SIGUSR1}, {Kind::stopped}}));
}

TEST_F(Reports, AJobControlStopCountsAsAStop) {
  process_->hold_all();
  for (const ThreadId tid : {kMain, kSecond, kThird}) report(tid, stop_status(SIGSTOP, PTRACE_EVENT_STOP));
  EXPECT_EQ(events(), (Tolds{{Kind::stopped}}));
  EXPECT_EQ(process_->threads.find(kThird)->job_stop, SIGSTOP);
}

TEST_F(Reports, AnExecByAnotherThreadThanTheMainOne) {
  // The main thread has ended, its zombie is there; the second calls exec and gets its number; the third dies.
  process_->options.report = DebugEventSet::all().without(Kind::library_loaded);  // ours are what it finds afterwards
  process_->threads.find(kMain)->state = State::ended;
  process_->hold_all();
  report(kThird, SIGKILL);
  report(kMain, stop_status(SIGTRAP, PTRACE_EVENT_EXEC));
  EXPECT_EQ(
      events(),
      (Tolds{{Kind::thread_exited, kThird}, {Kind::thread_exited, kSecond}, {Kind::execed, kMain}, {Kind::stopped}}));
  EXPECT_EQ(process_->threads.ids(), std::vector<ThreadId>{kMain});
  EXPECT_EQ(state_of(kMain), State::stopped);
  EXPECT_EQ(table_.process_of(kSecond), nullptr);
  EXPECT_EQ(process_->generation, 1u);
}

TEST_F(Reports, EndsOfThreadsAndOfTheProcess) {
  report(kSecond, 0);
  EXPECT_EQ(events(), (Tolds{{Kind::thread_exited, kSecond}}));
  report(kMain, 7 << 8);
  EXPECT_EQ(events(), (Tolds{{Kind::thread_exited, kThird}, {Kind::exited, kMain, 7}}));
  EXPECT_EQ(process_->status.check().error().code, ErrorCode::no_such_process);
  EXPECT_EQ(process_->status.end()->value, 7);
  EXPECT_EQ(table_.find(kMain), nullptr);
  EXPECT_EQ(table_.process_of(kThird), nullptr);
}

TEST_F(Reports, AThreadThatDiesIsWaitedForNoMore) {
  process_->hold_all();
  report(kMain, stop_status(SIGTRAP, PTRACE_EVENT_STOP));
  report(kSecond, stop_status(SIGTRAP, PTRACE_EVENT_STOP));
  report(kThird, 0);
  EXPECT_EQ(events(), (Tolds{{Kind::thread_exited, kThird}, {Kind::stopped}}));
}

TEST_F(Reports, AProcessThatIsKilled) {
  process_->hold_all();
  stop_all();
  report(kSecond, SIGKILL);
  report(kThird, SIGKILL);
  report(kMain, SIGSEGV | 0x80);
  EXPECT_EQ(events(), (Tolds{{Kind::stopped},
                             {Kind::thread_exited, kSecond},
                             {Kind::thread_exited, kThird},
                             {Kind::killed, kMain, SIGSEGV}}));
  EXPECT_TRUE(process_->status.end()->core_dumped);
}

TEST_F(Reports, WithoutAMainThreadOfOursTheLastEndIsTheProcesss) {
  process_->threads.remove(kMain);
  report(kSecond, 0);
  report(kThird, 3 << 8);
  EXPECT_EQ(events(), (Tolds{{Kind::thread_exited, kSecond}, {Kind::thread_exited, kThird}, {Kind::exited, kMain, 3}}));
}

TEST_F(Reports, AGuardHoldsOnlyItsThreads) {
  const ThreadId held[] = {kThird};
  const std::uint64_t guard = process_->threads.add_guard(held);
  EXPECT_EQ(process_->threads.straggler(), kThird);
  stop_all();
  EXPECT_EQ(process_->threads.straggler(), 0u);
  EXPECT_EQ(state_of(kSecond), State::running);
  EXPECT_EQ(state_of(kThird), State::stopped);
  process_->resume();
  EXPECT_EQ(state_of(kThird), State::stopped) << "not the guard's resume";
  process_->remove_guard(guard);
  EXPECT_EQ(state_of(kThird), State::running);
}

TEST_F(Reports, AStopOfNobodysThreadIsKeptUntilSomebodyTellsOfIt) {
  report(kStranger, stop_status(SIGSTOP, PTRACE_EVENT_STOP));
  EXPECT_TRUE(strays_.early.contains(kStranger));
  strays_.release_early(Strays::Clock::now() - std::chrono::seconds(1));
  EXPECT_TRUE(strays_.early.contains(kStranger));
  strays_.release_early(Strays::Clock::now());
  EXPECT_TRUE(strays_.early.empty());
  report(kStranger, stop_status(SIGTRAP, PTRACE_EVENT_STOP));
  report(kStranger, SIGKILL);
  EXPECT_TRUE(strays_.early.empty()) << "ended before";
  strays_.unwanted.insert(kStranger);
  report(kStranger, stop_status(SIGTRAP, PTRACE_EVENT_STOP));
  EXPECT_TRUE(strays_.early.empty()) << "let go";
  EXPECT_TRUE(strays_.unwanted.empty());
  EXPECT_EQ(events(), Tolds{});
}

TEST_F(Reports, OfAProcessThatWasLeftNothingIsTold) {
  table_.leave(*process_);
  EXPECT_EQ(table_.find(kMain), process_) << "its threads were not let go yet";
  EXPECT_EQ(process_->status.check().error().code, ErrorCode::not_found);
  report(kSecond, 0);
  report(kThird, 0);
  report(kMain, 0);
  EXPECT_EQ(events(), Tolds{});
  EXPECT_EQ(table_.find(kMain), nullptr);
  EXPECT_FALSE(process_->status.end().has_value());
}

}  // namespace
}  // namespace mixstack::process
