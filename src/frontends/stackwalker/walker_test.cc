#include "stackwalker/walker.h"

#include <gtest/gtest.h>

#include <thread>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/procstate.h"
#include "stackwalker/steppergroup.h"
#include "stackwalker/swk_errors.h"
#include "stackwalker/symlookup.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::find_name;
using mixstack::stackwalker::test::has_known_stack;
using mixstack::stackwalker::test::names_of;
using mixstack::stackwalker::test::outer_function;
using mixstack::stackwalker::test::standing_child;

using Owned = std::unique_ptr<Walker>;

TEST(StackwalkerWalker, WalksItsCaller) {
  const Owned walker(Walker::newWalker());
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> stack;
  bool whole = false;
  unsigned found_where_said = 0;
  outer_function([&] {
    whole = walker->walkStack(stack);
    // While the frames are alive, their return addresses lie where the walk says.
    for (std::size_t i = 1; i < stack.size(); i++) {
      const location_t where = stack[i].getRALocation();
      if (where.location == loc_address && *reinterpret_cast<Address*>(where.val.addr) == stack[i].getRA())
        found_where_said++;
    }
  });
  EXPECT_EQ(found_where_said + 1, stack.size());
  EXPECT_TRUE(whole) << getLastErrorMsg();
  EXPECT_TRUE(has_known_stack(stack));
  const auto names = names_of(stack);
  EXPECT_EQ(find_name(names, "walkStack"), names.size()) << "frames of the library";
  EXPECT_LE(find_name(names, "innermost_function"), 1U) << names[0];
  EXPECT_LT(find_name(names, "main"), names.size());
  EXPECT_TRUE(stack.front().isTopFrame());
  EXPECT_TRUE(stack.back().isBottomFrame());
  EXPECT_FALSE(stack.front().isBottomFrame() || stack.back().isTopFrame());
  for (std::size_t i = 1; i < stack.size(); i++) {
    EXPECT_GT(stack[i].getSP(), stack[i - 1].getSP());
    EXPECT_FALSE(stack[i].nonCall());
  }
}

TEST(StackwalkerWalker, WalksOnlyTheCallingThreadOfItsOwnProcess) {
  const Owned walker(Walker::newWalker());
  ASSERT_NE(walker, nullptr);
  std::vector<THR_ID> threads;
  ASSERT_TRUE(walker->getAvailableThreads(threads));
  EXPECT_EQ(threads, std::vector<THR_ID>{mixstack::process::test::gettid_now()});
  // Another thread walks itself by default...
  std::thread([&] {
    std::vector<Frame> stack;
    EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
    EXPECT_FALSE(stack.empty());
  }).join();
  // ...and no other.
  std::thread([&] {
    std::vector<Frame> stack;
    EXPECT_FALSE(walker->walkStack(stack, threads[0]));
    EXPECT_EQ(getLastError(), err_unsupported);
    EXPECT_TRUE(stack.empty());
  }).join();
}

TEST(StackwalkerWalker, FactoriesOfEveryKind) {
  const auto child = standing_child();
  const auto walks = [](Walker* made) {
    const Owned walker(made);
    std::vector<Frame> stack;
    return walker != nullptr && walker->walkStack(stack) && has_known_stack(stack);
  };
  EXPECT_TRUE(walks(Walker::newWalker(child->pid()))) << getLastErrorMsg();
  EXPECT_TRUE(walks(Walker::newWalker(child->pid(), std::string("/proc/self/exe")))) << getLastErrorMsg();
  {
    const auto process = ProcControlAPI::Process::attachProcess(child->pid());
    ASSERT_NE(process, nullptr) << getLastErrorMsg();
    EXPECT_FALSE(process->isRunning());
    EXPECT_TRUE(walks(Walker::newWalker(process))) << getLastErrorMsg();
    EXPECT_TRUE(process->continueProc());
    EXPECT_TRUE(process->detach());
  }
  EXPECT_TRUE(walks(Walker::newWalker(ProcDebug::newProcDebug(child->pid())))) << getLastErrorMsg();
  const Owned self(Walker::newWalker(std::string("/proc/self/exe")));
  ASSERT_NE(self, nullptr);
  EXPECT_TRUE(self->getProcessState()->isFirstParty());
}

TEST(StackwalkerWalker, StartsPrograms) {
  const Owned walker(Walker::newWalker("/bin/sleep", {"sleep", "100"}));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  auto* debugger = dynamic_cast<ProcDebug*>(walker->getProcessState());
  ASSERT_NE(debugger, nullptr);
  // It stands in the dynamic linker or at its entry until it is resumed.
  Frame top;
  EXPECT_TRUE(walker->getInitialFrame(top)) << getLastErrorMsg();
  std::vector<Frame> first;
  EXPECT_TRUE(walker->walkStack(first)) << getLastErrorMsg() << ": the linker's first instructions are a bottom, too";
  ASSERT_FALSE(first.empty());
  EXPECT_TRUE(first.back().isBottomFrame());
  std::string library, name;
  Offset offset = 0;
  void* symtab = nullptr;
  EXPECT_TRUE(first.back().getLibOffset(library, offset, symtab)) << getLastErrorMsg();
  EXPECT_NE(library.find("ld-linux"), std::string::npos) << library;
  // Distributions ship the linker stripped: its names are those of a package for debugging.
  if (first.back().getName(name)) {
    EXPECT_EQ(name, "_start");
  }
  EXPECT_TRUE(debugger->resume()) << getLastErrorMsg();
  std::vector<Frame> stack;
  EXPECT_TRUE(mixstack::process::test::eventually([&] {
    if (!walker->walkStack(stack)) return false;
    const auto names = names_of(stack);
    return find_name(names, "nanosleep") < names.size();
  })) << getLastErrorMsg();
  EXPECT_TRUE(debugger->getProc()->terminate());
  EXPECT_TRUE(mixstack::process::test::eventually([&] { return debugger->isTerminated(); }));
  EXPECT_FALSE(walker->walkStack(stack));
  EXPECT_EQ(getLastError(), err_procexit) << getLastErrorMsg();
}

TEST(StackwalkerWalker, AttachesToManyOrNone) {
  const auto one = standing_child(), two = standing_child();
  std::vector<Walker*> walkers;
  ASSERT_TRUE(Walker::newWalker({one->pid(), two->pid()}, walkers)) << getLastErrorMsg();
  ASSERT_EQ(walkers.size(), 2U);
  for (Walker* walker : walkers) {
    std::vector<Frame> stack;
    EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
    EXPECT_TRUE(has_known_stack(stack));
    delete walker;
  }
  walkers.clear();
  EXPECT_FALSE(Walker::newWalker({one->pid(), -5}, walkers));
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_TRUE(walkers.empty());
  EXPECT_TRUE(mixstack::process::test::eventually([&] { return mixstack::process::test::is_untraced(one->pid()); }));
  ASSERT_TRUE(Walker::newWalker({two->pid()}, walkers, "/proc/self/exe"));
  delete walkers[0];
}

TEST(StackwalkerWalker, StepsAgreeWithTheWholeWalk) {
  const auto child = standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> whole;
  ASSERT_TRUE(walker->walkStack(whole)) << getLastErrorMsg();
  Frame frame;
  ASSERT_TRUE(walker->getInitialFrame(frame)) << getLastErrorMsg();
  EXPECT_TRUE(frame.isTopFrame());
  EXPECT_EQ(frame.getThread(), child->pid());
  for (std::size_t i = 0; i < whole.size(); i++) {
    EXPECT_TRUE(frame == whole[i]) << i << " " << whole[i].getRALocation().format() << frame.getRALocation().format();
    EXPECT_EQ(frame.isBottomFrame(), i + 1 == whole.size());
    EXPECT_EQ(frame.getStepper(), whole[i].getStepper());
    if (i + 1 == whole.size()) break;
    ASSERT_TRUE(walker->walkSingleFrame(frame, frame)) << i << getLastErrorMsg();
  }
  EXPECT_FALSE(walker->walkSingleFrame(frame, frame));
  EXPECT_EQ(getLastError(), err_stackbottom);
  for (const std::size_t from : {std::size_t{0}, whole.size() / 2, whole.size() - 1}) {
    std::vector<Frame> rest;
    EXPECT_TRUE(walker->walkStackFromFrame(rest, whole[from])) << getLastErrorMsg();
    ASSERT_EQ(rest.size(), whole.size() - from);
    for (std::size_t i = 0; i < rest.size(); i++) EXPECT_TRUE(rest[i] == whole[from + i]) << from << "+" << i;
  }
}

/// "FP points to the beginning of its stack frame": if a function keeps no frame pointer, the register may hold
/// anything, here a number that is no address.
TEST(StackwalkerWalker, FramePointersPointToTheirFrames) {
#if defined(__x86_64__)
  const mixstack::stackwalker::test::TestProcess child([](auto& shared) {
    static auto* page = &shared;
    outer_function([] {
      page->ready = 1;
      // pause() with rubbish in rbp, which no function between here and the test saves.
      asm volatile("mov %%rbp, %%r15; mov $7, %%ebp; mov $34, %%eax; syscall; mov %%r15, %%rbp" ::
                       : "rax", "rcx", "r11", "r15", "memory");
    });
  });
  const Owned walker(Walker::newWalker(child.pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  ASSERT_TRUE(
      mixstack::process::test::eventually([&] { return mixstack::process::test::state_of(child.pid()) == 'S'; }));
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  EXPECT_EQ(stack[0].getFP(), 7U);
#else
  const auto child = standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
#endif
  ASSERT_GT(stack.size(), 4U);
  MachRegisterVal fp = 0;
  ASSERT_TRUE(walker->getProcessState()->getRegValue(
      MachRegister::getFramePointer(walker->getProcessState()->getArchitecture()), stack[0].getThread(), fp));
  EXPECT_EQ(stack[0].getFP(), fp) << "the top's is the register";
  for (std::size_t i = 1; i + 1 < stack.size(); i++) {
    EXPECT_GE(stack[i].getFP(), stack[i].getSP()) << i;
    EXPECT_LT(stack[i].getFP(), stack[i + 1].getSP()) << i;
  }
}

/// Three registers are enough to start with, if the code needs no others.
TEST(StackwalkerWalker, WalksFromFramesMadeByHand) {
  const auto child = standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<Frame> whole, rest;
  ASSERT_TRUE(walker->walkStack(whole));
  const std::size_t at = find_name(names_of(whole), "middle_function");
  ASSERT_LT(at + 1, whole.size());
  const std::unique_ptr<Frame> made(
      Frame::newFrame(whole[at].getRA(), whole[at].getSP(), whole[at].getFP(), walker.get()));
  EXPECT_TRUE(made->isFrameComplete());
  EXPECT_EQ(made->getRALocation().location, loc_unknown);
  Frame caller;
  ASSERT_TRUE(walker->walkSingleFrame(*made, caller)) << getLastErrorMsg();
  EXPECT_EQ(caller.getRA(), whole[at + 1].getRA());
  EXPECT_EQ(caller.getSP(), whole[at + 1].getSP());
  EXPECT_TRUE(walker->walkStackFromFrame(rest, *made)) << getLastErrorMsg();
  EXPECT_EQ(rest.size(), whole.size() - at);
}

TEST(StackwalkerWalker, ThreadsByNumber) {
  const auto child = mixstack::stackwalker::test::child_with_standing_thread();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  std::vector<THR_ID> threads;
  ASSERT_TRUE(walker->getAvailableThreads(threads));
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_EQ(threads[0], child->pid()) << "the initial thread first";
  const THR_ID other = child->shared().values[0];
  std::vector<Frame> stack;
  EXPECT_TRUE(walker->walkStack(stack, other)) << getLastErrorMsg();
  EXPECT_TRUE(has_known_stack(stack));
  EXPECT_EQ(stack[0].getThread(), other);
  EXPECT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  EXPECT_FALSE(has_known_stack(stack));
  // A thread that is not there, and one of another process.
  const THR_ID cut = THR_ID{child->pid()} + (THR_ID{1} << 32);
  for (const THR_ID wrong : {THR_ID{0x7ffffff0}, THR_ID{1}, cut, -cut}) {
    EXPECT_FALSE(walker->walkStack(stack, wrong));
    EXPECT_EQ(getLastError(), err_nothrd) << wrong << getLastErrorMsg();
    EXPECT_TRUE(stack.empty());
  }
}

TEST(StackwalkerWalker, RefusesWhatIsNothing) {
  EXPECT_EQ(Walker::newWalker(static_cast<ProcessState*>(nullptr)), nullptr);
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_EQ(Walker::newWalker(ProcControlAPI::Process::ptr()), nullptr);
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_EQ(Walker::newWalker(PID{-1}), nullptr);
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_EQ(Walker::newWalker(PID{0x3ffffff0}), nullptr);
  EXPECT_EQ(getLastError(), err_noproc) << getLastErrorMsg();
  EXPECT_EQ(Walker::newWalker("/no/such/program", {}), nullptr);
  EXPECT_EQ(getLastError(), err_nofile) << getLastErrorMsg();
  std::vector<Walker*> none;
  EXPECT_FALSE(Walker::newWalker(std::vector<PID>(), none));
  const Owned walker(Walker::newWalker());
  EXPECT_FALSE(walker->addStepper(nullptr));
  EXPECT_EQ(getLastError(), err_badparam);
  // One process, one Walker.
  EXPECT_EQ(Walker::newWalker(walker->getProcessState()), nullptr);
  EXPECT_EQ(getLastError(), err_badparam);
}

TEST(StackwalkerWalker, RefusesForeignFrames) {
  const Owned one(Walker::newWalker()), two(Walker::newWalker());
  std::vector<Frame> stack, out;
  ASSERT_TRUE(one->walkStack(stack));
  Frame caller;
  EXPECT_FALSE(two->walkSingleFrame(stack[0], caller));
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_FALSE(two->walkStackFromFrame(out, stack[0]));
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_FALSE(two->walkSingleFrame(Frame(), caller));
  EXPECT_FALSE(two->walkSingleFrame(Frame(two.get()), caller)) << "nothing is set";
  EXPECT_EQ(getLastError(), err_badparam);
  const std::unique_ptr<Frame> nonsense(Frame::newFrame(0x10, 0x20, 0x30, two.get()));
  EXPECT_FALSE(two->walkSingleFrame(*nonsense, caller));
  EXPECT_NE(getLastError(), 0U);
}

TEST(StackwalkerWalker, Version) {
  int major = -1, minor = -1, maintenance = -1;
  Walker::version(major, minor, maintenance);
  EXPECT_GE(major, 0);
  EXPECT_GE(minor, 0);
  EXPECT_GE(maintenance, 0);
}

TEST(StackwalkerWalker, HandsOutItsParts) {
  const Owned walker(Walker::newWalker());
  EXPECT_EQ(walker->getProcessState()->getWalker(), walker.get());
  EXPECT_EQ(walker->getStepperGroup()->getWalker(), walker.get());
  EXPECT_EQ(walker->getSymbolLookup()->getWalker(), walker.get());
  EXPECT_NE(dynamic_cast<SwkSymtab*>(walker->getSymbolLookup()), nullptr) << "the default of the manual's table";
  EXPECT_EQ(walker->getSymbolLookup()->getProcessState(), walker->getProcessState());
  EXPECT_EQ(walker->getSymbolLookup()->getProcessSate(), walker->getProcessState());
  std::set<FrameStepper*> steppers;
  walker->getStepperGroup()->getSteppers(steppers);
  EXPECT_EQ(steppers.size(), 6U);
}

}  // namespace
}  // namespace Dyninst::Stackwalker
