#include "engine/walk/chain_walker.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "engine/walk/advisor.h"

namespace mixstack::walk {
namespace {

/// Steppers by table: what lies at a pc and what its caller is. Fault injection for the engine; real code is walked by
/// the tests of session and tests/live.
struct Place {
  FrameKind kind = FrameKind::native;
  StepStatus status = StepStatus::caller;
  Address caller_pc = 0, caller_sp = 0;
  Trust trust = Trust::certain;
  bool interrupted = false;
  Error error{};
};

class TableStepper final : public FrameStepper {
 public:
  explicit TableStepper(std::map<Address, Place> places, bool owns = true) : places_(std::move(places)), owns_(owns) {}
  std::string_view name() const override { return "table"; }
  bool claim(Frame& frame) override {
    auto it = places_.find(frame.pc.raw());
    if (!owns_ || it == places_.end()) return false;
    frame.kind = it->second.kind;
    return true;
  }
  StepOutcome step(Cursor& cursor, const ThreadInput&) override {
    auto it = places_.find(cursor.frame.pc.raw());
    if (it == places_.end()) return {};
    const Place& p = it->second;
    cursor.registers.set_pc(p.caller_pc);
    cursor.registers.set_sp(p.caller_sp);
    return {.status = p.status,
            .error = p.error,
            .stepper = StepperId::user,
            .trust = p.trust,
            .caller_interrupted = p.interrupted};
  }

 private:
  std::map<Address, Place> places_;
  bool owns_;
};

Registers at(Address pc, Address sp) {
  Registers r(Arch::x86_64);
  r.set_pc(pc);
  r.set_sp(sp);
  return r;
}

Checkpoint checkpoint(Address address, Address pc, Address sp) {
  Checkpoint c;
  c.address = address;
  c.resumes = true;
  c.context = at(pc, sp);
  return c;
}

Trace walk(std::map<Address, Place> places, std::vector<Checkpoint> checkpoints, WalkOptions limits = {},
           std::map<Address, Place> fallback = {}) {
  TableStepper owner(std::move(places)), other(std::move(fallback), false);
  ThreadInput thread;
  thread.registers = at(1, 100);
  thread.checkpoints = checkpoints;
  return ChainWalker({{&owner}, {&other}, {}}, limits).walk(thread);
}

std::vector<Address> pcs(const Trace& t) {
  std::vector<Address> v;
  for (const Frame& f : t.frames) v.push_back(f.pc.raw());
  return v;
}
using Pcs = std::vector<Address>;

constexpr auto kManaged = FrameKind::managed;
constexpr auto kNative = FrameKind::native;
constexpr auto kEnd = StepStatus::end_of_stack;
constexpr auto kFailed = StepStatus::failed;

TEST(ChainWalker, NativeToManagedWithAgreeingWitnessIsCertain) {
  auto t = walk(
      {{1, {kNative, StepStatus::caller, 2, 200}}, {2, {kManaged, StepStatus::caller, 3, 300}}, {3, {kNative, kEnd}}},
      {checkpoint(210, 2, 200)});
  EXPECT_EQ(pcs(t), (Pcs{1, 2, 3}));
  EXPECT_EQ(t.frames[1].trust, Trust::certain);
  EXPECT_FALSE(t.frames[1].witness_disagrees);
  EXPECT_EQ(t.stop, StopReason::end_of_stack);
}

TEST(ChainWalker, AFaultsRegistersComeFromTheFrameThatKeptThem) {
  auto c = checkpoint(210, 2, 200);
  c.interrupted = true;
  c.context.set(x86_64_reg::rbx, 77);
  auto t = walk({{1, {kNative, StepStatus::caller, 2, 200}}, {2, {kManaged, kEnd}}}, {c}, {.keep_registers = true});
  ASSERT_EQ(t.frames.size(), 2u);
  EXPECT_TRUE(t.frames[1].is_interrupted);
  EXPECT_TRUE(t.frames[1].pc.is_exact());
  EXPECT_EQ(t.frames[1].trust, Trust::certain);
  EXPECT_EQ(t.registers[1].get(x86_64_reg::rbx), 77u);
}

TEST(ChainWalker, AnOverflowHandledOnItsOwnStackGoesOnWhereTheFrameSays) {
  // Handler's stack 100..300, its Frame at 150; the overflowing stack lies below. The fake call frame leads to sp 300.
  auto c = checkpoint(150, 2, 40);
  c.interrupted = true;
  const auto outer = checkpoint(60, 4, 70);
  auto t = walk({{1, {kNative, StepStatus::caller, 9, 200}},
                 {9, {kNative, StepStatus::caller, 2, 300}},
                 {2, {kManaged, StepStatus::caller, 3, 50}},
                 {3, {kNative, StepStatus::caller, 4, 70}},
                 {4, {kManaged, kEnd}}},
                {c, outer});
  EXPECT_EQ(pcs(t), (Pcs{1, 9, 2, 3, 4}));
  EXPECT_EQ(t.stop, StopReason::end_of_stack);
  EXPECT_EQ(t.frames[2].sp, 40u);
  EXPECT_TRUE(t.frames[2].is_interrupted);
  for (const Frame& f : t.frames) {
    EXPECT_EQ(f.trust, Trust::certain);
    EXPECT_FALSE(f.witness_disagrees);
  }
}

TEST(ChainWalker, AnEqualAddressFurtherOutIsNotWhereTheFaultWas) {
  // 2 is both where the outer activation faulted and where the inner one continues.
  auto c = checkpoint(350, 2, 400);
  c.interrupted = true;
  auto t = walk({{1, {kNative, StepStatus::caller, 2, 200}}, {2, {kManaged, kFailed}}}, {c});
  ASSERT_GE(t.frames.size(), 2u);
  EXPECT_EQ(t.frames[1].sp, 200u);
  EXPECT_FALSE(t.frames[1].is_interrupted);
}

TEST(ChainWalker, ADoubtfulStepStaysMarkedWhenTheChainIsConfirmed) {
  auto t = walk({{1, {kNative, StepStatus::caller, 2, 200, Trust::inferred}},
                 {2, {kManaged, StepStatus::caller, 3, 300}},
                 {3, {kNative, kEnd}}},
                {});
  ASSERT_EQ(t.frames.size(), 3u);
  EXPECT_EQ(t.frames[1].trust, Trust::inferred);
  EXPECT_EQ(t.frames[2].trust, Trust::certain);
}

TEST(ChainWalker, StuckNativeCodeResumesAtTheCheckpoint) {
  auto t = walk({{1, {kNative, kFailed}}, {2, {kManaged, kEnd}}}, {checkpoint(210, 2, 200)});
  EXPECT_EQ(pcs(t), (Pcs{1, 2}));
  EXPECT_EQ(t.frames[1].found_by, StepperId::explicit_frame);
  EXPECT_EQ(t.frames[1].trust, Trust::checkpoint);
  EXPECT_EQ(t.stop, StopReason::end_of_stack);
}

TEST(ChainWalker, StuckWithoutCheckpointSaysWhy) {
  auto t = walk({{1, {kNative, kFailed, 0, 0, Trust::certain, false, {ErrorCode::register_unknown, 0, 6}}}}, {});
  EXPECT_EQ(t.stop, StopReason::register_unknown);
  EXPECT_EQ(t.stop_error.value, 6u);
}

TEST(ChainWalker, CfiThatJumpsOverAManagedTransitionIsOverruled) {
  // 1 -> 3 (managed, sp 300) although the runtime knows of managed frame 2 at sp 200.
  auto t = walk(
      {{1, {kNative, StepStatus::caller, 3, 300}}, {2, {kManaged, StepStatus::caller, 3, 300}}, {3, {kManaged, kEnd}}},
      {checkpoint(210, 2, 200)});
  EXPECT_EQ(pcs(t), (Pcs{1, 2, 3}));
  EXPECT_TRUE(t.frames[1].witness_disagrees);
  EXPECT_EQ(t.frames[1].trust, Trust::checkpoint);
}

TEST(ChainWalker, NativeChainThatEndsBeyondAnUnmetCheckpointGoesBack) {
  auto t = walk({{1, {kNative, StepStatus::caller, 5, 150}},
                 {5, {kNative, StepStatus::caller, 6, 400}},
                 {6, {kNative, kEnd}},
                 {2, {kManaged, kEnd}}},
                {checkpoint(210, 2, 200)});
  EXPECT_EQ(pcs(t), (Pcs{1, 5, 2}));
  EXPECT_EQ(t.frames[2].trust, Trust::checkpoint);
}

TEST(ChainWalker, UncertainChainIsKeptOnlyWhenTheWitnessAgrees) {
  std::map<Address, Place> owner{{1, {kNative, kFailed}}, {2, {kManaged, kEnd}}, {3, {kManaged, kEnd}}};
  auto agree =
      walk(owner, {checkpoint(210, 2, 200)}, {}, {{1, {kNative, StepStatus::caller, 2, 200, Trust::frame_pointer}}});
  EXPECT_EQ(pcs(agree), (Pcs{1, 2}));
  EXPECT_EQ(agree.frames[1].found_by, StepperId::user);
  EXPECT_EQ(agree.frames[1].trust, Trust::certain);
  auto differ =
      walk(owner, {checkpoint(310, 2, 300)}, {}, {{1, {kNative, StepStatus::caller, 3, 250, Trust::frame_pointer}}});
  EXPECT_EQ(pcs(differ), (Pcs{1, 2}));
  EXPECT_EQ(differ.frames[1].found_by, StepperId::explicit_frame);
}

TEST(ChainWalker, AFrameWhoseSpIsAboveThePhysicalOneIsItsOwnMethods) {
  // Managed frame 2 (sp 200..300) used stackalloc: its InlinedCallFrame at 250 says sp 240. Native 3 calls it.
  auto t = walk({{1, {kNative, StepStatus::caller, 2, 200}},
                 {2, {kManaged, StepStatus::caller, 3, 300}},
                 {3, {kNative, StepStatus::caller, 4, 400}},
                 {4, {kManaged, kEnd}}},
                {checkpoint(250, 2, 240)});
  EXPECT_EQ(pcs(t), (Pcs{1, 2, 3, 4}));
  for (const Frame& f : t.frames) EXPECT_FALSE(f.witness_disagrees);
}

TEST(ChainWalker, TransitionWithoutAnyFrameIsWalkedByUnwindingAlone) {
  auto t = walk(
      {{1, {kNative, StepStatus::caller, 2, 200}}, {2, {kManaged, StepStatus::caller, 3, 300}}, {3, {kManaged, kEnd}}},
      {checkpoint(350, 3, 300)});
  EXPECT_EQ(pcs(t), (Pcs{1, 2, 3}));
  EXPECT_EQ(t.frames[1].trust, Trust::certain);
}

TEST(ChainWalker, RefusesAStackThatDoesNotAdvance) {
  auto guessed = walk({{1, {kNative, StepStatus::caller, 2, 100, Trust::inferred}}, {2, {kNative, kEnd}}}, {});
  EXPECT_EQ(pcs(guessed), (Pcs{1}));
  EXPECT_EQ(guessed.stop, StopReason::stack_not_advancing);
  // Code that was returned to, as a suspension's stub, has no stack of its own; its caller has.
  auto returned_to = walk({{1, {kNative, StepStatus::caller, 2, 100}}, {2, {kNative, StepStatus::caller, 3, 100}}}, {});
  EXPECT_EQ(pcs(returned_to), (Pcs{1, 2}));
  EXPECT_EQ(returned_to.stop, StopReason::stack_not_advancing);
}

TEST(ChainWalker, RefusesAReturnAddressThatIsNoCode) {
  auto t = walk({{1, {kNative, StepStatus::caller, 99, 200}}}, {});
  EXPECT_EQ(pcs(t), (Pcs{1}));
  EXPECT_EQ(t.stop, StopReason::bad_return_address);
}

TEST(ChainWalker, SignalFrameMayLeadToALowerStackButNotForever) {
  auto t = walk({{1, {kNative, StepStatus::caller, 2, 50, Trust::certain, true}}, {2, {kNative, kEnd}}}, {});
  EXPECT_EQ(pcs(t), (Pcs{1, 2}));
  EXPECT_TRUE(t.frames[1].is_interrupted);
  EXPECT_TRUE(t.frames[1].pc.is_exact());
  auto loop = walk({{1, {kNative, StepStatus::caller, 1, 50, Trust::certain, true}}}, {});
  EXPECT_LT(loop.frames.size(), 100u);
  EXPECT_NE(loop.stop, StopReason::end_of_stack);
}

TEST(ChainWalker, ACallThroughNullIsAnInterruptedFrameWithACaller) {
  auto t = walk({{1, {kNative, StepStatus::caller, 0, 200, Trust::certain, true}}, {2, {kNative, kEnd}}}, {}, {},
                {{0, {FrameKind::undescribed, StepStatus::caller, 2, 208, Trust::inferred}}});
  EXPECT_EQ(pcs(t), (Pcs{1, 0, 2}));
  EXPECT_EQ(t.frames[0].kind, FrameKind::signal_trampoline);
  EXPECT_TRUE(t.frames[1].is_interrupted);
  EXPECT_EQ(t.frames[2].trust, Trust::inferred);
  auto stuck = walk({{1, {kNative, StepStatus::caller, 0, 200, Trust::certain, true}}}, {});
  EXPECT_EQ(pcs(stuck), (Pcs{1, 0}));
  EXPECT_NE(stuck.stop, StopReason::end_of_stack);
}

/// Answers by pc in one turn, and notes when it was asked.
class TableAdvisor final : public Advisor {
 public:
  TableAdvisor(Turn turn, Address pc, StepOutcome outcome, Registers caller = Registers(Arch::x86_64))
      : turn_(turn), pc_(pc), outcome_(outcome), caller_(caller) {}
  void begin(const Cursor& cursor, const Trace& so_far) override {
    EXPECT_EQ(so_far.frames.back().pc, cursor.frame.pc);
    turns.clear();
    has_answered_ = false;
  }
  StepOutcome step(Turn turn, Cursor& cursor) override {
    turns.push_back(turn);
    if (turn != turn_ || cursor.frame.pc.raw() != pc_ || has_answered_) return {};
    has_answered_ = true;
    cursor.registers = caller_;
    return outcome_;
  }
  bool knows(Address code) override { return code == known; }
  std::vector<Turn> turns;  ///< of the last frame
  Address known = 0;

 private:
  Turn turn_;
  Address pc_;
  StepOutcome outcome_;
  Registers caller_;
  bool has_answered_ = false;
};

Trace walk_with(TableAdvisor& advisor, std::map<Address, Place> places, std::vector<Checkpoint> checkpoints = {}) {
  TableStepper owner(std::move(places));
  ThreadInput thread;
  thread.registers = at(1, 100);
  thread.checkpoints = checkpoints;
  return ChainWalker({{&owner}, {}, {}}, {}).walk(thread, &advisor);
}

TEST(ChainWalker, AnAdvisorThatDeclinesChangesNothing) {
  const std::map<Address, Place> places{{1, {kNative, StepStatus::caller, 2, 200}},
                                        {2, {kManaged, StepStatus::caller, 3, 300}},
                                        {3, {kNative, kFailed}},
                                        {4, {kManaged, kEnd}}};
  const std::vector<Checkpoint> frames{checkpoint(350, 4, 400)};
  TableAdvisor idle(Advisor::Turn::first, 0, {});
  EXPECT_EQ(pcs(walk_with(idle, places, frames)), pcs(walk(places, frames)));
  EXPECT_EQ(pcs(walk_with(idle, {{1, {kNative, kFailed}}})), Pcs{1});
  using Turn = Advisor::Turn;
  EXPECT_EQ(idle.turns, (std::vector{Turn::first, Turn::middle, Turn::last}));
}

TEST(ChainWalker, AnAdvisorsLastWordIsNotOverruled) {
  const std::map<Address, Place> places{{1, {kNative, StepStatus::caller, 2, 200}}, {4, {kManaged, kEnd}}, {2, {}}};
  const std::vector<Checkpoint> frames{checkpoint(350, 4, 400)};
  for (const StepStatus status : {kEnd, kFailed}) {
    TableAdvisor weak(Advisor::Turn::first, 2, {.status = status});
    EXPECT_EQ(pcs(walk_with(weak, places, frames)), (Pcs{1, 2, 4})) << "the record resumes";
    TableAdvisor strong(Advisor::Turn::first, 2, {.status = status, .ends_walk = true});
    const Trace trace = walk_with(strong, places, frames);
    EXPECT_EQ(pcs(trace), (Pcs{1, 2}));
    EXPECT_EQ(trace.stop == StopReason::end_of_stack, status == kEnd);
  }
}

TEST(ChainWalker, AnAdvisorMayLeadDownAndToCodeOfItsOwn) {
  const std::map<Address, Place> places{{1, {kNative, kFailed}}, {2, {kNative, kEnd}}};
  TableAdvisor down(Advisor::Turn::last, 1, {.status = StepStatus::caller, .elsewhere = true}, at(2, 50));
  EXPECT_EQ(pcs(walk_with(down, places)), (Pcs{1, 2}));
  TableAdvisor unassured(Advisor::Turn::last, 1, {.status = StepStatus::caller}, at(2, 50));
  EXPECT_EQ(walk_with(unassured, places).stop, StopReason::stack_not_advancing);
  TableAdvisor own(Advisor::Turn::first, 1, {.status = StepStatus::caller}, at(7, 200));
  EXPECT_EQ(walk_with(own, places).stop, StopReason::bad_return_address);
  own.known = 6;  // where the call is
  EXPECT_EQ(pcs(walk_with(own, places)), (Pcs{1, 7}));
  TableAdvisor cycle(Advisor::Turn::first, 1, {.status = StepStatus::caller, .elsewhere = true}, at(1, 100));
  const Trace trace = walk_with(cycle, places);
  EXPECT_EQ(trace.stop, StopReason::max_frames);
  EXPECT_EQ(trace.frames.size(), 1025U);
}

/// A user's owner that claims a frame it cannot step from leaves it, with its kind, to the real one.
TEST(ChainWalker, AUsersOwnerThatDeclinesIsPassedBy) {
  TableStepper users({{1, {kNative, StepStatus::not_mine}}, {2, {kNative, StepStatus::not_mine}}});
  TableStepper real({{1, {kManaged, StepStatus::caller, 2, 200}}});
  ThreadInput thread;
  thread.registers = at(1, 100);
  const Trace trace = ChainWalker({{&users, &real}, {}, {&users}}, {}).walk(thread);
  EXPECT_EQ(pcs(trace), (Pcs{1, 2})) << "where there is no other owner it keeps the frame";
  EXPECT_EQ(trace.frames[0].kind, kManaged);
  EXPECT_EQ(trace.frames[1].kind, kNative);
}

TEST(ChainWalker, LimitIsAStopReason) {
  std::map<Address, Place> long_chain;
  for (Address i = 1; i < 100; i++) long_chain[i] = {kNative, StepStatus::caller, i + 1, 100 + i * 8};
  auto t = walk(long_chain, {}, {.max_frames = 10});
  EXPECT_EQ(t.frames.size(), 10u);
  EXPECT_EQ(t.stop, StopReason::max_frames);
}

TEST(ChainWalker, ExplicitFramesAreShownBeforeTheFrameTheyRestore) {
  auto t = walk({{1, {kNative, StepStatus::caller, 2, 200}}, {2, {kManaged, kEnd}}}, {checkpoint(210, 2, 200)},
                {.explicit_frames = true});
  ASSERT_EQ(t.frames.size(), 3u);
  EXPECT_EQ(t.frames[1].kind, FrameKind::runtime_frame);
  EXPECT_EQ(t.frames[1].explicit_frame, 210u);
}

TEST(ChainWalker, ExplicitFramesOfAnOverflowLieOnTheStackTheyAreOf) {
  // The handler's stack 100..300 lies above the one that overflowed.
  auto c = checkpoint(150, 2, 40);
  c.interrupted = true;
  Checkpoint bottom;  // as the Frame every thread of the runtime starts with
  bottom.address = 80;
  auto t = walk({{1, {kNative, StepStatus::caller, 9, 200}},
                 {9, {kNative, StepStatus::caller, 2, 300}},
                 {2, {kManaged, StepStatus::caller, 3, 50}},
                 {3, {kNative, StepStatus::caller, 4, 70}},
                 {4, {kManaged, kEnd}}},
                {c, checkpoint(60, 4, 70), bottom}, {.explicit_frames = true});
  std::vector<Address> order;  // of Frames their address
  for (const Frame& f : t.frames) order.push_back(f.kind == FrameKind::runtime_frame ? f.explicit_frame : f.pc.raw());
  EXPECT_EQ(order, (Pcs{1, 9, 150, 2, 3, 60, 4, 80}));
}

TEST(ChainWalker, RegistersAndEvidenceAreKeptOnRequest) {
  auto t = walk({{1, {kNative, StepStatus::caller, 2, 200}}, {2, {kManaged, kEnd}}}, {},
                {.keep_registers = true, .explain = true});
  ASSERT_EQ(t.registers.size(), 2u);
  EXPECT_EQ(t.registers[t.frames[1].registers - 1].sp(), 200u);
  ASSERT_EQ(t.evidence.size(), 2u);
  EXPECT_EQ(t.evidence[0].stepper, StepperId::user);
}

}  // namespace
}  // namespace mixstack::walk
