#include "dotnet/waits/known_waits.h"

#include <gtest/gtest.h>

#include "dotnet/contracts/algorithms.h"
#include "support/fake_heap.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeHeap;

/// The core library of the fake has no type of threads, as that of a runtime that is not known.
TEST(KnownWaits, ManagedOnesNeedWhatThreadsKeep) {
  FakeHeap heap;
  names::MethodNames names(heap.runtime(), {});
  LoadedTypes types(heap.runtime(), names);
  ManagedObjects objects(types);
  EXPECT_EQ(why_waits_are_unknown(objects), "") << "native ones need no type";
  heap.layouts.algorithms.waits = WaitForm::managed;
  EXPECT_NE(why_waits_are_unknown(objects), "");
}

TEST(KnownWaits, TheFormIsChosenByTheSyncBlock) {
  auto json = test::x64_descriptor();
  EXPECT_EQ(choose_algorithms(test::parse_descriptor(json)).waits, WaitForm::native);
  json["types"]["SyncBlock"]["Lock"] = 0;
  EXPECT_EQ(choose_algorithms(test::parse_descriptor(json)).waits, WaitForm::managed);
}

}  // namespace
}  // namespace mixstack::dotnet::objects
