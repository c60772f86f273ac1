// One walk, with and without users' steppers: those that do not know a frame change nothing at all.
#include <gtest/gtest.h>

#include <map>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/frame.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/steppergroup.h"
#include "stackwalker/swk_errors.h"
#include "support/dotnet_process.h"

#if defined(__x86_64__)
// Code without unwind information. Only the outermost function keeps a frame pointer; in the others rbp is still its
// value, so that following it drops their callers.
asm(R"(
  .text
  .type undescribed_framed, @function
undescribed_framed:
  push %rbp
  mov %rsp, %rbp
  sub $0x10, %rsp
  call undescribed_outer
  leave
  ret
  .size undescribed_framed, . - undescribed_framed
  .type undescribed_outer, @function
undescribed_outer:
  sub $0x28, %rsp
  call undescribed_inner
  add $0x28, %rsp
  ret
  .size undescribed_outer, . - undescribed_outer
  .type undescribed_inner, @function
undescribed_inner:
  push %rbx
  mov %rdi, %rbx
  sub $0x30, %rsp
  call *%rbx
  add $0x30, %rsp
  pop %rbx
  ret
  .size undescribed_inner, . - undescribed_inner
)");
extern "C" void undescribed_framed(void (*)());
#endif

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::find_name;
using mixstack::stackwalker::test::names_of;
using mixstack::stackwalker::test::outer_function;
using mixstack::stackwalker::test::TestProcess;
using Owned = std::unique_ptr<Walker>;

class IdleStepper : public FrameStepper {
 public:
  IdleStepper(Walker* w, unsigned priority, Address start = 0, Address end = ~Address{0})
      : FrameStepper(w), priority_(priority), start_(start), end_(end) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override {
    asked++;
    out.setRA(in.getRA() + 1);  // invalid: must be rejected
    out.setSP(in.getSP() + 8);
    return gcf_not_me;
  }
  unsigned getPriority() const override { return priority_; }
  const char* getName() const override { return "IdleStepper"; }
  void registerStepperGroup(StepperGroup* group) override { (void)group->addStepper(this, start_, end_); }
  std::size_t asked = 0;

 private:
  unsigned priority_;
  Address start_, end_;
};

struct Walked {
  bool whole = false;
  err_t error = 0;
  std::vector<Frame> stack;
  std::vector<std::string> names;
};

Walked walk(Walker& walker, THR_ID tid) {
  Walked walked;
  walked.whole = walker.walkStack(walked.stack, tid);
  walked.error = getLastError();
  walked.names = names_of(walked.stack);
  return walked;
}

void expect_same_frame(const Frame& a, const Frame& b) {
  EXPECT_EQ(a.getRA(), b.getRA());
  EXPECT_EQ(a.getSP(), b.getSP());
  EXPECT_EQ(a.getFP(), b.getFP());
  EXPECT_TRUE(a == b);
  EXPECT_EQ(a.nonCall(), b.nonCall());
  EXPECT_EQ(a.getStepper(), b.getStepper());
  EXPECT_EQ(a.isTopFrame(), b.isTopFrame());
  EXPECT_EQ(a.isBottomFrame(), b.isBottomFrame());
}

/// walkSingleFrame and walkStackFromFrame go the same way.
void expect_same_steps(Walker& walker, const Walked& walked) {
  for (std::size_t i = 0; i < walked.stack.size(); i++) {
    Frame next;
    const bool stepped = walker.walkSingleFrame(walked.stack[i], next);
    EXPECT_EQ(stepped, i + 1 < walked.stack.size()) << i << getLastErrorMsg();
    if (stepped) expect_same_frame(next, walked.stack[i + 1]);
    if (!stepped) {
      EXPECT_EQ(getLastError(), walked.whole ? err_stackbottom : walked.error);
    }
  }
  std::vector<Frame> rest;
  const std::size_t half = walked.stack.size() / 2;
  EXPECT_EQ(walker.walkStackFromFrame(rest, walked.stack[half]), walked.whole);
  ASSERT_EQ(rest.size(), walked.stack.size() - half);
  for (std::size_t i = 0; i < rest.size(); i++) expect_same_frame(rest[i], walked.stack[half + i]);
  // One by one from the top.
  Frame at;
  ASSERT_TRUE(walker.getInitialFrame(at, walked.stack[0].getThread())) << getLastErrorMsg();
  for (std::size_t i = 0; i < walked.stack.size(); i++) {
    EXPECT_EQ(at.getRA(), walked.stack[i].getRA()) << i;
    EXPECT_EQ(at.getSP(), walked.stack[i].getSP()) << i;
    if (i + 1 == walked.stack.size()) break;
    ASSERT_TRUE(walker.walkSingleFrame(at, at)) << i << getLastErrorMsg();
  }
}

/// Every thread of a process that stands still; answers how many frames were compared.
std::size_t expect_that_idle_steppers_change_nothing(PID pid, std::size_t most_threads = 40) {
  const Owned walker(Walker::newWalker(pid));
  EXPECT_NE(walker, nullptr) << getLastErrorMsg();
  if (walker == nullptr) return 0;
  EXPECT_TRUE(dynamic_cast<ProcDebug*>(walker->getProcessState())->pause()) << getLastErrorMsg();
  std::vector<THR_ID> threads;
  EXPECT_TRUE(walker->getAvailableThreads(threads));
  if (threads.size() > most_threads) threads.resize(most_threads);
  std::map<THR_ID, Walked> expected;
  for (const THR_ID tid : threads) expected.emplace(tid, walk(*walker, tid));
  std::size_t frames = 0;
  std::vector<std::unique_ptr<IdleStepper>> idle;
  idle.push_back(std::make_unique<IdleStepper>(walker.get(), 0, 0x1000, 0x2000));
  for (const unsigned priority : {0U, 0x1800U, 0x3000U})
    idle.push_back(std::make_unique<IdleStepper>(walker.get(), priority));
  for (const auto& stepper : idle) {
    EXPECT_TRUE(walker->addStepper(stepper.get()));
    for (const auto& [tid, before] : expected) {
      SCOPED_TRACE("thread " + std::to_string(tid) + ", priority " + std::to_string(stepper->getPriority()));
      const Walked now = walk(*walker, tid);
      EXPECT_EQ(now.whole, before.whole) << getLastErrorMsg();
      EXPECT_EQ(now.error, before.error);
      EXPECT_EQ(now.names, before.names);
      if (now.stack.size() != before.stack.size()) continue;
      for (std::size_t i = 0; i < now.stack.size(); i++) expect_same_frame(now.stack[i], before.stack[i]);
      if (stepper == idle.back()) expect_same_steps(*walker, now);
      frames += now.stack.size();
    }
  }
  for (const auto& [tid, before] : expected) {
    SCOPED_TRACE("thread " + std::to_string(tid));
    Walked again = before;
    again.stack.clear();
    again.whole = walker->walkStack(again.stack, tid);
    expect_same_steps(*walker, again);
  }
  EXPECT_EQ(idle[0]->asked, 0U) << "no frame lies in its range";
  EXPECT_GT(idle[1]->asked, frames / 4) << "asked first, for every frame";
  return frames;
}

TEST(StackwalkerOneWalk, NativeThreads) {
  const TestProcess child(
      [](auto& shared) {
        static auto* page = &shared;
        static const auto stand = [] {
          page->ready++;
          for (;;) ::pause();
        };
        const auto described = [](void*) -> void* {
          outer_function([] { stand(); });
          return nullptr;
        };
        mixstack::process::test::start_thread(described, nullptr);
#if defined(__x86_64__)
        const auto undescribed = [](void*) -> void* {
          outer_function([] { undescribed_framed([] { stand(); }); });
          return nullptr;
        };
#else
        const auto undescribed = described;  // as many threads, for as many are waited for
#endif
        for (int i = 0; i < 4; i++) mixstack::process::test::start_thread(undescribed, nullptr);
        // One in a signal handler.
        ::signal(SIGUSR1, [](int) { stand(); });
        outer_function([] { ::raise(SIGUSR1); });
      },
      6);
  ASSERT_TRUE(child.is_ready());
#if defined(__x86_64__)
  {
    const Owned walker(Walker::newWalker(child.pid()));
    std::vector<THR_ID> threads;
    ASSERT_TRUE(walker != nullptr && walker->getAvailableThreads(threads)) << getLastErrorMsg();
    const Walked walked = walk(*walker, threads.back());
    EXPECT_TRUE(walked.whole);
    const std::size_t at = find_name(walked.names, "undescribed_inner");
    ASSERT_LT(at + 2, walked.names.size()) << testing::PrintToString(walked.names);
    EXPECT_EQ(walked.names[at + 1], "undescribed_outer");
    EXPECT_EQ(walked.names[at + 2], "undescribed_framed");
  }
#endif
  EXPECT_GT(expect_that_idle_steppers_change_nothing(child.pid()), 100U);
}

class StackwalkerOneWalkDotnet : public testing::TestWithParam<const char*> {};

TEST_P(StackwalkerOneWalkDotnet, EveryThread) {
  const mixstack::test::DotnetProcess process(GetParam());
  if (!process.ready()) GTEST_SKIP() << "the scenarios are not built";
  EXPECT_GT(expect_that_idle_steppers_change_nothing(static_cast<PID>(process.pid())), 100U);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, StackwalkerOneWalkDotnet,
                         testing::Values("reverse_pinvoke", "marshalling", "nested_exceptions", "filter_native",
                                         "exception_through_native", "hardware_exceptions", "dynamic_methods",
                                         "rbp_plain", "native_thread", "shared_stubs", "spin", "gc_wait", "locks",
                                         "signal_handler_altstack", "crash_stack_overflow_mixed", "deep"),
                         [](const auto& info) { return std::string(info.param); });

/// From a first party walk the library's own frames are left out, and no user's stepper sees them.
TEST(StackwalkerOneWalk, FirstParty) {
  const Owned walker(Walker::newWalker());
  IdleStepper idle(walker.get(), 0);
  Walked before, now;
  outer_function([&] {
    for (Walked* walked : {&before, &now}) {
      walked->whole = walker->walkStack(walked->stack);
      if (walked == &before) (void)walker->addStepper(&idle);
    }
  });
  EXPECT_TRUE(before.whole && now.whole) << getLastErrorMsg();
  EXPECT_EQ(names_of(now.stack), names_of(before.stack));
  EXPECT_EQ(idle.asked, now.stack.size());
  for (std::size_t i = 1; i < now.stack.size(); i++) expect_same_frame(now.stack[i], before.stack[i]);
  Frame next;
  for (std::size_t i = 0; i + 1 < now.stack.size(); i++) {
    ASSERT_TRUE(walker->walkSingleFrame(now.stack[i], next)) << i << getLastErrorMsg();
    expect_same_frame(next, now.stack[i + 1]);
  }
  EXPECT_FALSE(walker->walkSingleFrame(now.stack.back(), next));
  EXPECT_EQ(getLastError(), err_stackbottom);
}

/// A stepper may ask what the others would do, walk, and look around, in the middle of a walk.
TEST(StackwalkerOneWalk, SteppersThatAskBack) {
  class Curious : public IdleStepper {
   public:
    using IdleStepper::IdleStepper;
    gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override {
      std::string name;
      (void)in.getName(name);
      std::vector<LibAddrPair> libraries;
      EXPECT_TRUE(getProcessState()->getLibraryTracker()->getLibraries(libraries));
      Frame top;
      if (asked++ % 4 == 0) {
        EXPECT_TRUE(getWalker()->getInitialFrame(top)) << getLastErrorMsg();
      }
      DebugStepper debug(getWalker());
      const gcframe_ret_t answer = debug.getCallerFrame(in, out);
      return answer == gcf_success ? gcf_success : gcf_not_me;
    }
  };
  const auto child = mixstack::stackwalker::test::standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  const Walked before = walk(*walker, child->pid());
  Curious curious(walker.get(), 0);
  ASSERT_TRUE(walker->addStepper(&curious));
  const Walked now = walk(*walker, child->pid());
  EXPECT_TRUE(now.whole);
  EXPECT_EQ(now.names, before.names);
  EXPECT_EQ(now.stack.size(), before.stack.size());
  EXPECT_GE(curious.asked, now.stack.size());
}

}  // namespace
}  // namespace Dyninst::Stackwalker
