// The corners of the surface that the other tests do not reach.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/time.h>

#include <csignal>
#include <map>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/Symtab.h"
#include "stackwalker/frame.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/procstate.h"
#include "stackwalker/steppergroup.h"
#include "stackwalker/swk_errors.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::find_name;
using mixstack::stackwalker::test::has_known_stack;
using mixstack::stackwalker::test::names_of;
using mixstack::stackwalker::test::standing_child;
using mixstack::stackwalker::test::TestProcess;
using Owned = std::unique_ptr<Walker>;

TEST(StackwalkerTypes, AreWhatTheManualSays) {
  static_assert(std::is_same_v<Address, unsigned long> && std::is_same_v<MachRegisterVal, unsigned long>);
  static_assert(std::is_same_v<LWP, int> && std::is_same_v<THR_ID, long>);
  EXPECT_EQ(NULL_PID, -1);
  EXPECT_EQ(NULL_LWP, -1);
  EXPECT_EQ(getArchAddressWidth(Arch_ppc32) + getArchAddressWidth(Arch_aarch32), 8U);
  EXPECT_EQ(getArchAddressWidth(Arch_ppc64) + getArchAddressWidth(Arch_aarch64), 16U);
  EXPECT_EQ(getArchAddressWidth(Arch_none), 0U);
  location_t one, two;
  EXPECT_TRUE(one.operator==(two));
  two.location = loc_register;
  EXPECT_FALSE(one.operator==(two));
  const storage_t unknown = one.location;
  EXPECT_EQ(unknown, loc_unknown);
  EXPECT_EQ(one.format(), "<loc: unknown>");
  EXPECT_FALSE(InvalidReg.isValid());
}

/// The manual: "all return priorities between 0x1000 and 0x2000".
TEST(StackwalkerTypes, PrioritiesAreInTheirOrder) {
  EXPECT_EQ(FrameStepper::stackbottom_priority, 0x1000U);
  EXPECT_LT(FrameStepper::stackbottom_priority, FrameStepper::sighandler_priority);
  EXPECT_LT(FrameStepper::sighandler_priority, FrameStepper::debugstepper_priority);
  EXPECT_LT(FrameStepper::debugstepper_priority, FrameStepper::analysis_priority);
  EXPECT_LT(FrameStepper::analysis_priority, FrameStepper::frame_priority) << "a frame pointer may be anything";
  EXPECT_LT(FrameStepper::frame_priority, FrameStepper::wanderer_priority);
  EXPECT_LE(FrameStepper::wanderer_priority, 0x2000U);
}

TEST(StackwalkerErrors, EachHasWordsOfItsOwn) {
  std::map<std::string, err_t> words;
  for (const err_t code : {err_badparam, err_nostepper, err_nosymlookup, err_procread, err_nosymbol, err_internal,
                           err_perm, err_noproc, err_interrupt, err_procexit, err_stackbottom, err_nofile,
                           err_unsupported, err_symtab, err_nolibtracker, err_nogroup, err_nothrd, err_proccontrol}) {
    setLastError(code);
    EXPECT_TRUE(words.emplace(getLastErrorMsg(), code).second) << getLastErrorMsg();
  }
  EXPECT_EQ(words.size(), 18U);
}

TEST(StackwalkerErrors, ASignalEndsTheWaitingForEvents) {
  const auto child = standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr);
  while (ProcDebug::handleDebugEvent()) {
  }
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval soon{{0, 0}, {0, 50000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &soon, nullptr), 0);
  EXPECT_FALSE(ProcDebug::handleDebugEvent(true));
  EXPECT_EQ(getLastError(), err_interrupt);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST(StackwalkerProcess, IsStoppedAndContinued) {
  using ProcControlAPI::Process;
  const Process::ptr process = Process::createProcess("/bin/sleep", {"sleep", "100"});
  ASSERT_NE(process, nullptr) << getLastErrorMsg();
  const Process::const_ptr same = process;
  EXPECT_FALSE(same->isRunning());
  EXPECT_TRUE(process->continueProc());
  EXPECT_TRUE(same->isRunning());
  EXPECT_TRUE(process->stopProc());
  EXPECT_FALSE(same->isRunning());
  EXPECT_TRUE(process->terminate());
  EXPECT_TRUE(mixstack::process::test::eventually([&] { return same->isTerminated(); }));
  EXPECT_EQ(ProcDebug::newProcDebug(process), nullptr);
  EXPECT_EQ(getLastError(), err_procexit);
  EXPECT_EQ(Process::attachProcess(0), nullptr);
  EXPECT_EQ(getLastError(), err_badparam);
}

TEST(StackwalkerFrame, ComparesAndOrders) {
  const Owned walker(Walker::newWalker());
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack));
  EXPECT_TRUE(stack[0].operator==(stack[0]));
  EXPECT_FALSE(stack[0].operator==(stack[1]));
  CallTree tree(frame_symname_cmp);
  FrameNode* first = tree.addFrame(stack[0], nullptr);
  FrameNode* second = tree.addFrame(stack[1], nullptr);
  EXPECT_EQ(tree.addFrame(stack[0], tree.getHead()), first);
  const frame_cmp_wrapper less = tree.getCompareWrapper();
  EXPECT_NE(less.operator()(first, second), less.operator()(second, first));
  const frame_set_t& children = tree.getHead()->getChildren();
  EXPECT_EQ(children.size(), 2U);
  void* object = nullptr;
  ASSERT_TRUE(stack[0].getObject(object));
  EXPECT_NE(static_cast<SymtabAPI::Symbol*>(object)->getType(), SymtabAPI::Symbol::ST_UNKNOWN);
}

TEST(StackwalkerWalkerSet, IsAContainer) {
  const Owned walker(Walker::newWalker());
  const std::unique_ptr<WalkerSet> set(WalkerSet::newWalkerSet());
  WalkerSet::iterator at = set->insert(walker.get()).first;
  EXPECT_EQ(*at, walker.get());
  const WalkerSet& constant = *set;
  const WalkerSet::const_iterator found = constant.find(walker.get());
  EXPECT_EQ(found, constant.begin());
  EXPECT_NE(found, constant.end());
}

/// Says the same of every function.
class FixedHelper : public FrameFuncHelper {
 public:
  FixedHelper(ProcessState* proc, alloc_frame_t answer) : FrameFuncHelper(proc), answer_(answer) {}
  alloc_frame_t allocatesFrame(Address) override { return answer_; }

 private:
  alloc_frame_t answer_;
};

TEST(StackwalkerHelpers, DecideWhetherAFrameRecordIsBelieved) {
  const auto child = standing_child();
  const Owned walker(Walker::newWalker(child->pid()));
  ASSERT_NE(walker, nullptr);
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack));
  // A frame record of our own making: the innermost frame's caller's values lie where its fp points.
  const std::size_t at = find_name(names_of(stack), "innermost_function");
  const location_t where = stack[at + 1].getRALocation();
  ASSERT_EQ(where.location, loc_address);
  const std::unique_ptr<Frame> made(
      Frame::newFrame(stack[at].getRA(), stack[at].getSP(), where.val.addr - 8, walker.get()));
  Address saved = 0;
  ASSERT_TRUE(walker->getProcessState()->readMem(&saved, where.val.addr - 8, sizeof saved));
  const bool is_record = saved == 0 || (saved % 8 == 0 && saved > where.val.addr);
  const auto ask = [&](FrameFuncHelper::frame_type type, FrameFuncHelper::frame_state state) {
    FixedHelper helper(walker->getProcessState(), {type, state});
    FrameFuncStepper stepper(walker.get(), &helper);
    Frame out;
    const gcframe_ret_t answer = stepper.getCallerFrame(*made, out);
    if (answer == gcf_success) {
      EXPECT_EQ(out.getRA(), stack[at + 1].getRA());
    }
    return answer;
  };
  const gcframe_ret_t believed = is_record ? gcf_success : gcf_not_me;
  EXPECT_EQ(ask(FrameFuncHelper::standard_frame, FrameFuncHelper::set_frame), believed);
  EXPECT_EQ(ask(FrameFuncHelper::unknown_t, FrameFuncHelper::unknown_s), believed);
  EXPECT_EQ(ask(FrameFuncHelper::standard_frame, FrameFuncHelper::halfset_frame), gcf_not_me);
  EXPECT_EQ(ask(FrameFuncHelper::standard_frame, FrameFuncHelper::unset_frame), gcf_not_me);
  EXPECT_EQ(ask(FrameFuncHelper::savefp_only_frame, FrameFuncHelper::set_frame), gcf_not_me);
  EXPECT_EQ(ask(FrameFuncHelper::no_frame, FrameFuncHelper::set_frame), gcf_not_me);
  const FrameFuncHelper::frame_type type = FrameFuncHelper::no_frame;
  const FrameFuncHelper::frame_state state = FrameFuncHelper::set_frame;
  EXPECT_EQ(FrameFuncHelper::alloc_frame_t(type, state).first, FrameFuncHelper::no_frame);
  WandererHelper wanderer(walker->getProcessState());
  void* object = nullptr;
  ASSERT_TRUE(stack[at].getObject(object));
  const auto* symbol = static_cast<SymtabAPI::Symbol*>(object);
  LibAddrPair library;
  ASSERT_TRUE(walker->getProcessState()->getLibraryTracker()->getLibraryAtAddr(stack[at].getRA(), library));
  const Address entry = symbol->getOffset() + library.second;
  const WandererHelper::pc_state inside = wanderer.isPCInFunc(entry, stack[at].getRA() - 1);
  EXPECT_EQ(inside, WandererHelper::in_func);
  EXPECT_EQ(wanderer.isPCInFunc(entry, 8), WandererHelper::unknown_s);
}

/// A state of a user's, with the protected parts in use.
class NumberedState : public ProcSelf {
 public:
  void rename(PID pid) { setPid(pid); }
  LibraryState* getLibraryTracker() override { return none ? nullptr : ProcSelf::getLibraryTracker(); }
  bool none = true;
};

TEST(StackwalkerProcessState, NumbersAndTrackers) {
  auto* state = new NumberedState;
  const Owned walker(Walker::newWalker(state));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  state->rename(0x3ffffff1);
  EXPECT_EQ(ProcessState::getProcessStateByPid(0x3ffffff1), state);
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack)) << getLastErrorMsg();
  std::string library;
  Offset offset = 0;
  void* symtab = nullptr;
  EXPECT_FALSE(stack[0].getLibOffset(library, offset, symtab));
  EXPECT_EQ(getLastError(), err_nolibtracker);
  state->none = false;
  state->setDefaultLibraryTracker();
  EXPECT_TRUE(stack[0].getLibOffset(library, offset, symtab));
}

/// Hears of libraries.
class ListeningStepper : public FrameStepper {
 public:
  using FrameStepper::FrameStepper;
  gcframe_ret_t getCallerFrame(const Frame&, Frame&) override { return gcf_not_me; }
  unsigned getPriority() const override { return 1; }
  const char* getName() const override { return "ListeningStepper"; }
  void newLibraryNotification(LibAddrPair* libaddr, lib_change_t change) override {
    if (change == library_load) loaded.push_back(libaddr->first);
    if (change == library_unload) unloaded.push_back(libaddr->first);
  }
  std::vector<std::string> loaded, unloaded;
};

TEST(StackwalkerLibraries, ComeAndGo) {
  const TestProcess child([](auto& shared) {
    shared.ready = 1;
    void* library = nullptr;
    for (;;) {
      if (shared.go == 1 && library == nullptr) {
        library = ::dlopen("libresolv.so.2", RTLD_NOW);
        shared.ready = library != nullptr ? 2 : -1;
      }
      if (shared.go == 2 && library != nullptr) {
        ::dlclose(library);
        library = nullptr;
        shared.go = 0;
        shared.ready = 3;
      }
      mixstack::process::test::nap(std::chrono::milliseconds(1));
    }
  });
  const Owned walker(Walker::newWalker(child.pid()));
  ASSERT_NE(walker, nullptr);
  ListeningStepper stepper(walker.get());
  ASSERT_TRUE(walker->addStepper(&stepper));
  std::vector<Frame> stack;
  ASSERT_TRUE(walker->walkStack(stack));
  EXPECT_TRUE(stepper.loaded.empty());
  const auto wait_for = [&](int state) {
    return mixstack::process::test::eventually([&] { return child.shared().ready == state; });
  };
  child.shared().go = 1;
  ASSERT_TRUE(wait_for(2));
  ASSERT_TRUE(walker->walkStack(stack));
  ASSERT_EQ(stepper.loaded.size(), 1U);
  EXPECT_NE(stepper.loaded[0].find("libresolv"), std::string::npos);
  child.shared().go = 2;
  ASSERT_TRUE(wait_for(3));
  ASSERT_TRUE(walker->walkStack(stack));
  EXPECT_EQ(stepper.unloaded, stepper.loaded);
}

TEST(StackwalkerTypes, OfVariables) {
  // SymtabAPI's Type is name and size; local_var_test.cc looks at real ones.
  const SymtabAPI::Type type;
  EXPECT_EQ(type.getSize(), 0U);
  EXPECT_EQ(type.getName(), "");
}

}  // namespace
}  // namespace Dyninst::Stackwalker
