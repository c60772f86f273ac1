#include "output/report/stack_rows.h"

#include <gtest/gtest.h>

#include "support/thread_builder.h"

namespace mixstack::report {
namespace {

using testing::NamedFrame;
using testing::ThreadBuilder;

std::string text_of(std::initializer_list<NamedFrame> frames, const ReportOptions& options = {},
                    void (*change)(ThreadDump&) = nullptr) {
  ThreadBuilder builder;
  ThreadDump& thread = builder.add(1, "t", frames);
  if (change != nullptr) change(thread);
  std::string out;
  for (const StackRow& row : rows_of(builder.dump(), thread, options)) {
    out += std::to_string(row.first);
    if (row.size() > 1) out += "-" + std::to_string(row.last) + (row.kind == StackRow::Kind::async ? "a" : "n");
    out += " ";
  }
  return out;
}

const NamedFrame kClr{'N', "libcoreclr.so", ""}, kLibc{'N', "libc.so.6", ""}, kPoll{'N', "libc.so.6", "poll"},
    kBody{'M', "Shop", "Shop.Load(int) [async]"}, kLoad{'M', "Shop", "Shop.Load(int)"},
    kOther{'M', "Shop", "Shop.Other(int)"};

NamedFrame core(std::string name) { return {'M', "System.Private.CoreLib", std::move(name)}; }

TEST(StackRows, FramesWithoutSymbolsOfOneImageShareALine) {
  EXPECT_EQ(text_of({kPoll, kClr, kClr, kClr, kLibc, kClr}), "0 1-3n 4 5 ");
  EXPECT_EQ(text_of({kPoll, kClr, kClr}, {.fold = false}), "0 1 2 ");
  EXPECT_EQ(text_of({kPoll, kClr, kClr}, {.explain = true}), "0 1 2 ");
  EXPECT_EQ(text_of({kPoll, kClr, kClr}, {.registers = true}), "0 1 2 ");
}

TEST(StackRows, DoubtfulFramesStandAlone) {
  EXPECT_EQ(text_of({kClr, kClr, kClr, kClr}, {}, [](ThreadDump& t) { t.trace.frames[2].trust = Trust::prologue; }),
            "0-1n 2 3 ");
}

TEST(StackRows, CallsThatStartAnAsyncMethodAreItsLine) {
  const auto first = core("System.Runtime.CompilerServices.AsyncMethodBuilderCore.Start<Shop.<Load>d__1>(ref T)");
  const auto second = core("System.Runtime.CompilerServices.AsyncTaskMethodBuilder.Start<Shop.<Load>d__1>(ref T)");
  EXPECT_EQ(text_of({kBody, first, second, kLoad, kOther}), "0-3a 4 ");
  // Started by another method: nothing that says so is left out.
  EXPECT_EQ(text_of({kBody, first, kOther}), "0 1 2 ");
  EXPECT_EQ(text_of({kBody, kLoad}), "0 1 ");
  EXPECT_EQ(text_of({kOther, first, second, kLoad}), "0 1 2 3 ");
}

TEST(StackRows, CallsThatResumeAnAsyncMethodAreItsLine) {
  EXPECT_EQ(
      text_of(
          {kBody,
           core("System.Runtime.CompilerServices.AsyncTaskMethodBuilder<int>.AsyncStateMachineBox<X>.MoveNext(Thread)"),
           core("System.Threading.ExecutionContext.RunFromThreadPoolDispatchLoop(Thread)"),
           core("System.Threading.Tasks.AwaitTaskContinuation.RunOrScheduleAction(IAsyncStateMachineBox, bool)"),
           core("System.Threading.Tasks.Task.RunContinuations(object)"),
           core("System.Threading.Tasks.Task<int>.TrySetResult(int)"), kOther}),
      "0-4a 5 6 ");
}

TEST(StackRows, HiddenFramesAreNoRows) {
  EXPECT_EQ(text_of({kPoll, kClr, kOther, kClr}, {.managed_only = true}), "2 ");
}

}  // namespace
}  // namespace mixstack::report
