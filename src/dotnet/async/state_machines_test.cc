#include "dotnet/async/state_machines.h"

#include <gtest/gtest.h>

#include "support/fake_libraries.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeLibraries;

class StateMachinesTest : public ::testing::Test {
 protected:
  FakeLibraries heap_;
  names::MethodNames names_{heap_.runtime(), {}};
  LoadedTypes loaded_{heap_.runtime(), names_};
  ManagedObjects objects_{loaded_};
  CodeManager code_{heap_.runtime(), heap_.contracts};
  Delegates delegates_{objects_, code_, names_};
  StateMachines machines_{objects_, delegates_};
};

TEST_F(StateMachinesTest, TheMachineInABox) {
  const Address box = heap_.box(heap_.get_box);
  const auto machine = machines_.machine_of(box);
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->address, box + FakeLibraries::kMachine);
  EXPECT_EQ(machine->method_table, heap_.get);
  EXPECT_EQ(machines_.state_of(*machine), 0);
  heap_.memory.put_u32(box + FakeLibraries::kMachine + FakeLibraries::kState, 0xffffffff);
  EXPECT_EQ(machines_.state_of(*machine), -1);
  EXPECT_TRUE(machines_.is_async(box));
  EXPECT_TRUE(machines_.is_task(box));
}

TEST_F(StateMachinesTest, WhatIsNoBox) {
  EXPECT_FALSE(machines_.machine_of(heap_.promise()));
  EXPECT_FALSE(machines_.machine_of(heap_.object(heap_.object_type, 8)));
  EXPECT_FALSE(machines_.machine_of(heap_.object(heap_.imitation, 56))) << "of another assembly";
  EXPECT_FALSE(machines_.machine_of(0));
  EXPECT_FALSE(machines_.machine_of(0xdead0000));
}

TEST_F(StateMachinesTest, AMethodAwaitsWhatKnowsIt) {
  const Address upper = heap_.box(heap_.get_box), lower = heap_.box(heap_.load_box);
  heap_.await(upper, lower);
  EXPECT_EQ(machines_.awaited_by(*machines_.machine_of(upper), upper), lower);
  EXPECT_EQ(machines_.awaited_by(*machines_.machine_of(lower), lower), 0u);
  EXPECT_EQ(machines_.continuations(lower), std::vector{upper});
  EXPECT_TRUE(machines_.is_awaited_by(lower, upper));
  EXPECT_FALSE(machines_.is_awaited_by(upper, lower));
  EXPECT_FALSE(machines_.is_awaited_by(lower, lower));
}

TEST_F(StateMachinesTest, TheNameOfAMethodIsThatOfTheSource) {
  const auto get = machines_.machine_of(heap_.box(heap_.get_box)),
             load = machines_.machine_of(heap_.box(heap_.load_box));
  EXPECT_NE(machines_.method_of(*get).find("Shop.Program.Get"), std::string::npos) << machines_.method_of(*get);
  EXPECT_NE(machines_.method_of(*load).find("Shop.Program.Load"), std::string::npos) << machines_.method_of(*load);
}

TEST_F(StateMachinesTest, ATaskThatHasEnded) {
  const Address task = heap_.promise();
  EXPECT_FALSE(machines_.is_completed(task));
  heap_.memory.put_u32(task + FakeLibraries::kFlags, FakeLibraries::kRanToCompletion);
  EXPECT_TRUE(machines_.is_completed(task));
  heap_.memory.put_u32(task + FakeLibraries::kFlags, 0x00200000);  // it failed
  EXPECT_TRUE(machines_.is_completed(task));
}

TEST_F(StateMachinesTest, ATaskThatStandsForASource) {
  const Address source = heap_.object(heap_.value_source, 16), task = heap_.as_task(source);
  EXPECT_EQ(machines_.source_behind(task), source);
  EXPECT_EQ(machines_.source_behind(heap_.promise()), 0u);
}

TEST_F(StateMachinesTest, StepsOfABox) {
  std::vector<AsyncStep> steps;
  const Address box = heap_.box(heap_.get_box);
  EXPECT_TRUE(machines_.add_steps(box, steps));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].box, box);
  EXPECT_EQ(steps[0].method, machines_.method_of(*machines_.machine_of(box)));
}

TEST_F(StateMachinesTest, AListOfContinuationsThatIsNoListIsNone) {
  const Address task = heap_.promise();
  heap_.memory.put_u64(task + FakeLibraries::kContinuation, 0xdead0000);
  EXPECT_TRUE(machines_.continuations(task).empty());
  EXPECT_TRUE(machines_.continuations(0).empty());
}

TEST_F(StateMachinesTest, ALayoutWithoutACompilersNamesIsByProof) {
  const auto types = heap_.load("Other", {{"Other", "Machine", 0, 0, {{"a", 0}, {"n", 8, FakeLibraries::kInt}}}});
  const auto& other = machines_.machine_layout(types[0]);
  EXPECT_TRUE(other.is_by_proof);
  EXPECT_EQ(other.state, 8u);
  EXPECT_EQ(other.awaiter_words, other.builder_words);
  const auto& get = machines_.machine_layout(heap_.get);
  EXPECT_FALSE(get.is_by_proof);
  EXPECT_EQ(get.state, FakeLibraries::kState);
  EXPECT_EQ(get.awaiter_words, std::vector{FakeLibraries::kAwaiter});
  EXPECT_EQ(get.builder_words, std::vector{FakeLibraries::kBuilder});
  EXPECT_FALSE(machines_.machine_layout(0xdead0000).state);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
