#include <gtest/gtest.h>

#include <algorithm>

#include "frontends/stackwalker/test_stacks.h"
#include "stackwalker/frame.h"
#include "stackwalker/framestepper.h"
#include "stackwalker/steppergroup.h"
#include "stackwalker/swk_errors.h"

namespace Dyninst::Stackwalker {
namespace {

using mixstack::stackwalker::test::find_name;
using mixstack::stackwalker::test::has_known_stack;
using mixstack::stackwalker::test::names_of;
using mixstack::stackwalker::test::standing_child;
using Owned = std::unique_ptr<Walker>;

/// Gives fixed answers, and counts the questions.
class ScriptedStepper : public FrameStepper {
 public:
  ScriptedStepper(Walker* w, unsigned priority, gcframe_ret_t answer)
      : FrameStepper(w), priority_(priority), answer_(answer) {}
  gcframe_ret_t getCallerFrame(const Frame& in, Frame& out) override {
    asked++;
    if (throws) throw std::runtime_error("stepper");
    if (answer_ == gcf_success) {
      out.setRA(in.getRA());
      out.setSP(in.getSP() + advance);
      out.setFP(in.getFP());
    }
    return answer_;
  }
  unsigned getPriority() const override { return priority_; }
  const char* getName() const override { return "ScriptedStepper"; }
  void newLibraryNotification(LibAddrPair*, lib_change_t) override { notified++; }
  void registerStepperGroup(StepperGroup* steppergroup) override {
    registered_with = steppergroup;
    if (end != 0) (void)steppergroup->addStepper(this, start, end);
  }
  unsigned asked = 0, notified = 0;
  Address advance = 16, start = 0, end = 0;
  bool throws = false;
  StepperGroup* registered_with = nullptr;

 private:
  unsigned priority_;
  gcframe_ret_t answer_;
};

class StackwalkerSteppers : public testing::Test {
 protected:
  void SetUp() override {
    child_ = standing_child();
    walker_.reset(Walker::newWalker(child_->pid()));
    ASSERT_NE(walker_, nullptr) << getLastErrorMsg();
    ASSERT_TRUE(walker_->walkStack(whole_)) << getLastErrorMsg();
  }
  std::unique_ptr<mixstack::stackwalker::test::TestProcess> child_;
  Owned walker_;
  std::vector<Frame> whole_;
};

/// The documented loop finds what the engine's walk finds.
TEST_F(StackwalkerSteppers, TheLoopAgreesWithTheWholeWalk) {
  ScriptedStepper idle(walker_.get(), 0x10, gcf_not_me);
  ASSERT_TRUE(walker_->addStepper(&idle));
  EXPECT_EQ(idle.registered_with, walker_->getStepperGroup());
  std::vector<Frame> stack;
  EXPECT_TRUE(walker_->walkStack(stack)) << getLastErrorMsg();
  EXPECT_TRUE(has_known_stack(stack));
  ASSERT_EQ(stack.size(), whole_.size());
  EXPECT_EQ(idle.asked, stack.size()) << "asked first, for each frame";
  for (std::size_t i = 0; i < stack.size(); i++) {
    EXPECT_EQ(stack[i].getRA(), whole_[i].getRA());
    EXPECT_EQ(stack[i].getSP(), whole_[i].getSP());
    EXPECT_EQ(stack[i].isBottomFrame(), i + 1 == stack.size());
  }
  EXPECT_EQ(stack[1].getStepper(), whole_[1].getStepper());
  std::vector<Frame> rest;
  EXPECT_TRUE(walker_->walkStackFromFrame(rest, stack[2])) << getLastErrorMsg();
  EXPECT_EQ(rest.size(), stack.size() - 2);
}

/// Programs know them by class, too: each says who it is and where it stands in the order.
TEST_F(StackwalkerSteppers, DefaultSteppersByTheirClasses) {
  Walker* w = walker_.get();
  const BottomOfStackStepper bottom(w);
  EXPECT_STREQ(bottom.getName(), "BottomOfStackStepper");
  EXPECT_EQ(bottom.getPriority(), FrameStepper::stackbottom_priority);
  const SigHandlerStepper signal(w);
  EXPECT_STREQ(signal.getName(), "SigHandlerStepper");
  EXPECT_EQ(signal.getPriority(), FrameStepper::sighandler_priority);
  const DebugStepper debug(w);
  EXPECT_STREQ(debug.getName(), "DebugStepper");
  EXPECT_EQ(debug.getPriority(), FrameStepper::debugstepper_priority);
  const AnalysisStepper analysis(w);
  EXPECT_STREQ(analysis.getName(), "AnalysisStepper");
  EXPECT_EQ(analysis.getPriority(), FrameStepper::analysis_priority);
  const FrameFuncStepper frame_pointer(w);
  EXPECT_STREQ(frame_pointer.getName(), "FrameFuncStepper");
  EXPECT_EQ(frame_pointer.getPriority(), FrameStepper::frame_priority);
  const StepperWanderer wanderer(w);
  EXPECT_STREQ(wanderer.getName(), "StepperWanderer");
  EXPECT_EQ(wanderer.getPriority(), FrameStepper::wanderer_priority);
}

TEST_F(StackwalkerSteppers, DefaultSteppersOneByOne) {
  Walker* w = walker_.get();
  DebugStepper debug(w);
  BottomOfStackStepper bottom(w);
  SigHandlerStepper signal(w);
  FrameFuncStepper frame_pointer(w);
  AnalysisStepper analysis(w);
  StepperWanderer wanderer(w);
  const std::size_t at = find_name(names_of(whole_), "innermost_function");
  ASSERT_LT(at + 1, whole_.size());
  Frame out;
  ASSERT_EQ(debug.getCallerFrame(whole_[at], out), gcf_success) << getLastErrorMsg();
  EXPECT_EQ(out.getRA(), whole_[at + 1].getRA());
  EXPECT_EQ(out.getSP(), whole_[at + 1].getSP());
  EXPECT_EQ(out.getStepper(), &debug);
  EXPECT_EQ(bottom.getCallerFrame(whole_[at], out), gcf_not_me);
  EXPECT_EQ(bottom.getCallerFrame(whole_.back(), out), gcf_stackbottom);
  EXPECT_EQ(signal.getCallerFrame(whole_[at], out), gcf_not_me);
  // Whether there are frame records depends on how the test was compiled: what is believed must be a caller.
  const gcframe_ret_t by_record = frame_pointer.getCallerFrame(whole_[at], out);
  if (by_record == gcf_success) {
    EXPECT_TRUE(std::any_of(whole_.begin(), whole_.end(), [&](const Frame& f) { return f.getRA() == out.getRA(); }));
  } else {
    EXPECT_EQ(by_record, gcf_not_me);
  }
  ASSERT_EQ(analysis.getCallerFrame(whole_[at], out), gcf_success) << getLastErrorMsg();
  EXPECT_EQ(out.getRA(), whole_[at + 1].getRA());
  ASSERT_EQ(wanderer.getCallerFrame(whole_[at], out), gcf_success) << getLastErrorMsg();
  EXPECT_EQ(out.getRA(), whole_[at + 1].getRA());
  for (FrameStepper* s : std::initializer_list<FrameStepper*>{&bottom, &signal, &debug, &frame_pointer, &analysis}) {
    EXPECT_GE(s->getPriority(), FrameStepper::stackbottom_priority);
    EXPECT_LT(s->getPriority(), wanderer.getPriority());
    EXPECT_EQ(s->getWalker(), w);
    EXPECT_EQ(s->getProcessState(), w->getProcessState());
    EXPECT_NE(std::string(s->getName()), "");
  }
  // Without a Walker.
  DebugStepper lost(nullptr);
  EXPECT_EQ(lost.getCallerFrame(whole_[at], out), gcf_error);
  EXPECT_EQ(getLastError(), err_badparam);
  EXPECT_EQ(lost.getProcessState(), nullptr);
}

/// Helpers are asked before anything is believed.
TEST_F(StackwalkerSteppers, Helpers) {
  class NoFrames : public FrameFuncHelper {
   public:
    using FrameFuncHelper::FrameFuncHelper;
    alloc_frame_t allocatesFrame(Address) override { return {no_frame, set_frame}; }
  } no_frames(walker_->getProcessState());
  class NoCalls : public WandererHelper {
   public:
    using WandererHelper::WandererHelper;
    bool isPrevInstrACall(Address, Address&) override { return false; }
  } no_calls(walker_->getProcessState());
  const std::size_t at = find_name(names_of(whole_), "innermost_function");
  Frame out;
  FrameFuncStepper frame_pointer(walker_.get(), &no_frames);
  EXPECT_EQ(frame_pointer.getCallerFrame(whole_[at], out), gcf_not_me);
  StepperWanderer deaf(walker_.get(), &no_calls), refused(walker_.get(), nullptr, &no_frames);
  EXPECT_EQ(deaf.getCallerFrame(whole_[at], out), gcf_not_me);
  EXPECT_EQ(refused.getCallerFrame(whole_[at], out), gcf_not_me);
  WandererHelper plain(walker_->getProcessState());
  Address target = 1;
  EXPECT_TRUE(plain.isPrevInstrACall(whole_[at + 1].getRA(), target));
  EXPECT_FALSE(plain.isPrevInstrACall(whole_[at + 1].getRA() + 1, target));
  EXPECT_EQ(plain.isPCInFunc(0x10, whole_[at].getRA() - 1), WandererHelper::outside_func);
  EXPECT_FALSE(plain.requireExactMatch());
}

TEST_F(StackwalkerSteppers, AUsersStepperGoesFirstWithinItsRange) {
  const std::size_t at = find_name(names_of(whole_), "middle_function");
  ScriptedStepper ends(walker_.get(), 0x20, gcf_stackbottom);
  ends.start = whole_[at].getRA() - 1;
  ends.end = whole_[at].getRA();
  ASSERT_TRUE(walker_->addStepper(&ends));
  std::vector<Frame> stack;
  EXPECT_TRUE(walker_->walkStack(stack)) << "the bottom was reached";
  EXPECT_EQ(ends.asked, 1U);
  EXPECT_EQ(stack.size(), at + 1);
  EXPECT_TRUE(stack.back().isBottomFrame());
}

TEST_F(StackwalkerSteppers, ErrorsEndTheWalk) {
  ScriptedStepper refuses(walker_.get(), 0x20, gcf_error);
  ASSERT_TRUE(walker_->addStepper(&refuses));
  std::vector<Frame> stack;
  EXPECT_FALSE(walker_->walkStack(stack));
  EXPECT_EQ(getLastError(), err_internal);
  EXPECT_EQ(stack.size(), 1U) << "what there is";
  refuses.throws = true;
  EXPECT_FALSE(walker_->walkStack(stack));
  EXPECT_EQ(getLastError(), err_internal);
  // The process runs on, and nothing holds it.
  EXPECT_TRUE(
      mixstack::process::test::eventually([&] { return mixstack::process::test::state_of(child_->pid()) == 'S'; }));
}

TEST_F(StackwalkerSteppers, LoopsEnd) {
  {
    ScriptedStepper endless(walker_.get(), 0x20, gcf_success);
    ASSERT_TRUE(walker_->addStepper(&endless));
    std::vector<Frame> stack;
    EXPECT_FALSE(walker_->walkStack(stack));
    EXPECT_EQ(getLastError(), err_internal);
    EXPECT_EQ(stack.size(), 65536U);
    // One that stands still may be right (a coroutine's resumer has a stack of its own), but not for ever.
    endless.advance = 0;
    EXPECT_FALSE(walker_->walkStack(stack));
    EXPECT_EQ(getLastError(), err_internal) << getLastErrorMsg();
    EXPECT_EQ(stack.size(), 1025U);
    // Neither in the documented loop.
    const auto other = standing_child();
    walker_.reset(
        Walker::newWalker(ProcDebug::newProcDebug(other->pid()), new AddrRangeGroup(nullptr), nullptr, false));
    ASSERT_NE(walker_, nullptr) << getLastErrorMsg();
    ASSERT_TRUE(walker_->addStepper(&endless));
    EXPECT_FALSE(walker_->walkStack(stack));
    EXPECT_EQ(getLastError(), err_internal) << getLastErrorMsg();
    EXPECT_EQ(stack.size(), 1025U);
    walker_.reset();  // before the stepper
  }
}

/// Names one stepper for ever, or throws.
class StubbornGroup : public StepperGroup {
 public:
  explicit StubbornGroup(FrameStepper* stepper) : StepperGroup(nullptr), stepper_(stepper) {}
  using StepperGroup::addStepper;
  bool addStepper(FrameStepper*, Address, Address) override { return true; }
  bool findStepperForAddr(Address, FrameStepper*& out, const FrameStepper*) override {
    if (throws) throw 1;
    out = stepper_;
    return true;
  }
  bool throws = false;

 private:
  FrameStepper* stepper_;
};

TEST(StackwalkerGroups, AUsersGroup) {
  const auto child = standing_child();
  ScriptedStepper declines(nullptr, 1, gcf_not_me);
  auto* group = new StubbornGroup(&declines);
  const Owned walker(Walker::newWalker(ProcDebug::newProcDebug(child->pid()), group));
  ASSERT_NE(walker, nullptr) << getLastErrorMsg();
  EXPECT_EQ(group->getWalker(), walker.get());
  std::vector<Frame> stack;
  EXPECT_FALSE(walker->walkStack(stack));
  EXPECT_EQ(getLastError(), err_nostepper);
  EXPECT_EQ(declines.asked, 1U) << "a group that names the same again has no other";
  group->throws = true;
  EXPECT_FALSE(walker->walkStack(stack));
  EXPECT_EQ(getLastError(), err_internal);
}

/// As a program has a group that it did not make.
TEST(StackwalkerGroups, ThroughTheInterface) {
  AddrRangeGroup ranges(nullptr);
  StepperGroup& group = ranges;
  ScriptedStepper first(nullptr, 10, gcf_not_me), second(nullptr, 20, gcf_not_me);
  group.registerStepper(&second);
  group.registerStepper(&first);
  EXPECT_EQ(first.registered_with, &group);
  FrameStepper* found = nullptr;
  ASSERT_TRUE(group.findStepperForAddr(0x1000, found));
  EXPECT_EQ(found, &first);
  ASSERT_TRUE(group.findStepperForAddr(0x1000, found, &first));
  EXPECT_EQ(found, &second);
  EXPECT_FALSE(group.findStepperForAddr(0x1000, found, &second));
}

TEST(StackwalkerGroups, RangesAndPriorities) {
  AddrRangeGroup group(nullptr);
  ScriptedStepper late(nullptr, 30, gcf_not_me), early(nullptr, 10, gcf_not_me), same(nullptr, 10, gcf_not_me),
      narrow(nullptr, 5, gcf_not_me);
  narrow.start = 0x1000;
  narrow.end = 0x2000;
  for (FrameStepper* s : std::initializer_list<FrameStepper*>{&late, &early, &same, &narrow})
    ASSERT_TRUE(group.addStepper(s));
  const auto order = [&](Address address) {
    std::vector<FrameStepper*> list;
    FrameStepper* at = nullptr;
    const FrameStepper* last = nullptr;
    while (group.findStepperForAddr(address, at, last) && list.size() < 10) {
      list.push_back(at);
      last = at;
    }
    return list;
  };
  EXPECT_EQ(order(0x10), (std::vector<FrameStepper*>{&early, &same, &late})) << "equal priorities are both kept";
  EXPECT_EQ(order(0x1000), (std::vector<FrameStepper*>{&narrow, &early, &same, &late}));
  EXPECT_EQ(order(0x1fff).size(), 4U);
  EXPECT_EQ(order(0x2000).size(), 3U);
  EXPECT_EQ(getLastError(), err_nostepper);
  std::set<FrameStepper*> all;
  group.getSteppers(all);
  EXPECT_EQ(all.size(), 4U);
  LibAddrPair library("x", 1);
  group.newLibraryNotification(&library, library_load);
  EXPECT_EQ(narrow.notified + late.notified, 2U);
  EXPECT_FALSE(group.addStepper(nullptr));
  EXPECT_FALSE(group.addStepper(&late, 5, 5));
  group.registerStepper(nullptr);
}

/// "Add the specified FrameStepper to the list of known steppers, and register it": it is told, once, and its range
/// stays.
TEST(StackwalkerGroups, ARangeRegistersItsStepper) {
  AddrRangeGroup group(nullptr);
  ScriptedStepper told(nullptr, 10, gcf_not_me);
  ASSERT_TRUE(group.addStepper(&told, 0x1000, 0x2000));
  EXPECT_EQ(told.registered_with, &group);
  told.registered_with = nullptr;
  ASSERT_TRUE(group.addStepper(&told, 0x3000, 0x4000));
  EXPECT_EQ(told.registered_with, nullptr) << "it knows already";
  FrameStepper* found = nullptr;
  EXPECT_FALSE(group.findStepperForAddr(0x2000, found));
  EXPECT_TRUE(group.findStepperForAddr(0x3fff, found));
  // One that leaves registerStepperGroup as it stands.
  FrameFuncStepper plain(nullptr);
  ASSERT_TRUE(group.addStepper(&plain, 0x5000, 0x6000));
  EXPECT_TRUE(group.findStepperForAddr(0x5000, found));
  EXPECT_FALSE(group.findStepperForAddr(0x6000, found)) << "its range is not widened";
  ASSERT_TRUE(group.addStepper(&plain));
  EXPECT_TRUE(group.findStepperForAddr(0x6000, found)) << "now it is for the entire address space";
}

}  // namespace
}  // namespace Dyninst::Stackwalker
