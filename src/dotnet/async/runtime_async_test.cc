#include "dotnet/async/runtime_async.h"

#include <gtest/gtest.h>

#include "dotnet/async/async_chains.h"
#include "dotnet/async/heap_reader.h"
#include "support/fake_runtime_async.h"

namespace mixstack::dotnet::objects {
namespace {

using test::FakeRuntimeAsync;

class RuntimeAsyncTest : public ::testing::Test {
 protected:
  /// Everything anew: what was read before is forgotten.
  struct Readers {
    explicit Readers(FakeRuntimeAsync& heap)
        : names(heap.runtime(), {}),
          types(heap.runtime(), names),
          objects(types),
          code(heap.runtime(), heap.contracts) {}
    names::MethodNames names;
    LoadedTypes types;
    ManagedObjects objects;
    CodeManager code;
    Delegates delegates{objects, code, names};
    StateMachines machines{objects, delegates};
    AsyncChains chains{objects, delegates, machines, std::nullopt};
  };
  AsyncChain below(Address task) { return Readers(heap_).chains.below(task); }
  ResumedMethod method_at(Address resume) {
    Readers all(heap_);
    return ResumeStubs(all.objects, all.delegates).method_at(resume);
  }
  /// "GetOrder 2 > ReadRow 1 promise".
  static std::string words(const AsyncChain& chain) {
    std::string text;
    for (const AsyncStep& s : chain.steps) {
      std::string method = s.method.substr(0, s.method.find('('));
      if (method.starts_with("Shop.")) method = method.substr(method.rfind('.') + 1);
      text += (text.empty() ? "" : " > ") + method + " " + std::to_string(s.state);
    }
    return text + (text.empty() ? "" : " ") + std::string(to_string(chain.end)) + (chain.is_cut ? " cut" : "") +
           (chain.proof == Proof::likely ? " likely" : "");
  }
  std::vector<std::string> chains_of_heap() {
    Readers all(heap_);
    HeapReader reader(all.objects, all.code, all.names, FakeRuntimeAsync::kDacTable);
    reader.prepare();
    auto found = reader.read(heap_.memory, std::nullopt, {}, 1 << 24);
    if (!found) return {found.error().text};
    scan_ = found->scan;
    std::vector<std::string> all_words;
    for (const AsyncChain& c : found->chains) all_words.push_back(std::to_string(c.count) + " x " + words(c));
    return all_words;
  }

  FakeRuntimeAsync heap_;
  HeapScan scan_;
};

TEST_F(RuntimeAsyncTest, StubsNameTheirMethodsWithTypes) {
  const ResumedMethod row = method_at(heap_.read_row_stub());
  EXPECT_EQ(row.name, "Shop.Db.ReadRow()");
  EXPECT_TRUE(row.is_proved);
  EXPECT_FALSE(row.is_machinery);
  EXPECT_EQ(method_at(heap_.get_order_stub()).name, "Shop.Db.GetOrder()") << "a compiled stub";
  EXPECT_TRUE(method_at(heap_.await_stub()).is_machinery);
  EXPECT_TRUE(method_at(heap_.wrapped_stub()).is_machinery) << "a method of tasks that the runtime does not suspend";
}

TEST_F(RuntimeAsyncTest, WhatProvesNoTypeGivesNone) {
  const auto read_row = heap_.method(heap_.db, FakeRuntimeAsync::kReadRow);
  for (const bool is_compiled : {false, true}) {
    const auto other = heap_.stub("GetOrder", read_row.slot, is_compiled);  // a word of another method
    EXPECT_EQ(method_at(other.code).name, "GetOrder");
    EXPECT_FALSE(method_at(other.code).is_proved);
  }
  const auto stub = heap_.stub("ReadRow", read_row.slot, false);
  EXPECT_TRUE(method_at(stub.code).is_proved);
  const auto unproved = [&](Address at, std::uint64_t value) {
    const auto before = heap_.memory.read<std::uint64_t>(at).value_or(0);
    heap_.memory.put_u64(at, value);
    EXPECT_EQ(method_at(stub.code).name, "ReadRow") << std::hex << at;
    EXPECT_FALSE(method_at(stub.code).is_proved) << std::hex << at;
    heap_.memory.put_u64(at, before);
  };
  unproved(stub.resolver + 16, stub.method_desc + 8);  // not this stub's
  unproved(stub.resolver + 8, 0);                      // neither IL nor code
  unproved(stub.resolver + 8, 0x1231);
  unproved(stub.state + 24, 0x5000);                      // not what we take it for
  unproved(stub.state, std::uint64_t{0xffffffff} << 32);  // too long
  unproved(read_row.slot, read_row.code + 4);             // inside of a method
  unproved(read_row.slot, 0);
}

TEST_F(RuntimeAsyncTest, WhatIsNoStubIsNoMethod) {
  EXPECT_TRUE(method_at(0).name.empty());
  EXPECT_TRUE(method_at(0x1234).name.empty());
  EXPECT_TRUE(method_at(heap_.method(heap_.db, FakeRuntimeAsync::kReadRow).code).name.empty());
}

TEST_F(RuntimeAsyncTest, DownAndUp) {
  const Address promise = heap_.promise(), task = heap_.chain(promise);
  const AsyncChain chain = below(task);
  EXPECT_EQ(words(chain), "GetOrder 2 > ReadRow 1 promise");
  EXPECT_EQ(chain.awaited.address, promise);
  EXPECT_EQ(chain.steps[1].box, task);
  EXPECT_EQ(Readers(heap_).chains.way_up(promise), (std::vector<Address>{promise, task}));
}

TEST_F(RuntimeAsyncTest, BetweenMethodsWithStateMachines) {
  const Address lower = heap_.box(heap_.load_box), task = heap_.chain(lower), upper = heap_.box(heap_.get_box);
  heap_.await(upper, task);
  heap_.await(lower, heap_.promise());
  EXPECT_EQ(words(below(upper)), "Get 0 > GetOrder 2 > ReadRow 1 > Load 0 promise");
  // `lower` has one continuation: the box's own way leads nowhere else.
  heap_.continue_with(lower, task);
  EXPECT_EQ(Readers(heap_).chains.way_up(lower), (std::vector<Address>{lower, task, upper}));
}

TEST_F(RuntimeAsyncTest, WhatDoesNotPointBackIsLikely) {
  const Address promise = heap_.promise(), task = heap_.chain(promise);
  heap_.memory.put_u64(promise + FakeRuntimeAsync::kContinuation, 0);
  EXPECT_EQ(words(below(task)), "GetOrder 2 > ReadRow 1 promise likely");
  // A method of the source keeps tasks that it does not await.
  const Address own = heap_.suspended(heap_.read_row_stub(), heap_.last());
  heap_.hold(own, {promise});
  EXPECT_EQ(words(below(heap_.thunk(own))), "ReadRow 0 yielded");
  const Address two = heap_.suspended(heap_.await_stub(), heap_.last());
  heap_.hold(two, {promise, heap_.promise()});
  EXPECT_EQ(words(below(heap_.thunk(two))), "yielded");
}

TEST_F(RuntimeAsyncTest, RunningEndedAndForged) {
  const Address running = heap_.thunk(0);
  EXPECT_EQ(words(below(running)), "running");
  EXPECT_EQ(below(running).awaited.address, running);
  const Address ended = heap_.chain(heap_.promise());
  heap_.memory.put_u32(ended + FakeRuntimeAsync::kFlags, FakeRuntimeAsync::kRanToCompletion);
  EXPECT_EQ(words(below(ended)), "completed");
  // A task whose action belongs to another task is not believed to be such a task.
  const Address forged = heap_.chain(heap_.promise());
  heap_.memory.put_u64(forged + FakeRuntimeAsync::kAction,
                       heap_.memory.read<std::uint64_t>(ended + FakeRuntimeAsync::kAction).value_or(0));
  EXPECT_EQ(words(below(forged)), "work");
}

TEST_F(RuntimeAsyncTest, CyclesAndLongOnesAreCut) {
  const Address cycle = heap_.suspended(heap_.read_row_stub(), 0);
  heap_.memory.put_u64(cycle + FakeRuntimeAsync::kNext, cycle);
  EXPECT_EQ(words(below(heap_.thunk(cycle))), "ReadRow 0 yielded cut");
  Address at = heap_.last();
  for (int i = 0; i < 200; i++) at = heap_.suspended(heap_.read_row_stub(), at);
  const AsyncChain chain = below(heap_.thunk(at));
  EXPECT_TRUE(chain.is_cut);
  EXPECT_EQ(chain.steps.size(), RuntimeAsync::kMostMethods);
  const Address no_stub = heap_.suspended(0x1230, heap_.suspended(heap_.get_order_stub(), heap_.last()));
  EXPECT_EQ(words(below(heap_.thunk(no_stub))), "yielded cut");
}

TEST_F(RuntimeAsyncTest, TheHeapsChains) {
  for (int i = 0; i < 3; i++) (void)heap_.chain(heap_.promise());
  const Address lower = heap_.chain(heap_.promise()), upper = heap_.box(heap_.get_box);
  heap_.await(upper, lower);
  (void)heap_.thunk(0);
  EXPECT_EQ(chains_of_heap(), (std::vector<std::string>{"3 x GetOrder 2 > ReadRow 1 promise",
                                                        "1 x Get 0 > GetOrder 2 > ReadRow 1 promise"}));
  EXPECT_EQ(scan_.suspended, 9U);
  EXPECT_EQ(scan_.running, 1U);
}

TEST_F(RuntimeAsyncTest, WhatMayRunIsLikely) {
  const Address done = heap_.promise();
  (void)heap_.chain(done);
  heap_.memory.put_u32(done + FakeRuntimeAsync::kFlags, FakeRuntimeAsync::kRanToCompletion);
  (void)heap_.thunk(heap_.suspended(heap_.read_row_stub(), heap_.last()));
  EXPECT_EQ(chains_of_heap(),
            (std::vector<std::string>{"1 x GetOrder 2 > ReadRow 1 completed likely", "1 x ReadRow 0 yielded likely"}));
}

TEST_F(RuntimeAsyncTest, GarbageInEveryWordIsSurvived) {
  for (int i = 0; i < 3; i++) (void)heap_.chain(heap_.promise());
  const AddressRange region = heap_.region();
  for (const std::uint64_t garbage :
       {std::uint64_t{0}, ~std::uint64_t{0}, region.begin + 8, region.end - 8, heap_.thunk_task, heap_.continuation}) {
    for (Address at = region.begin; at < region.end; at += 8) {
      const auto before = heap_.memory.read<std::uint64_t>(at).value_or(0);
      heap_.memory.put_u64(at, garbage);
      (void)chains_of_heap();
      EXPECT_LE(scan_.suspended + scan_.running, 8U);
      heap_.memory.put_u64(at, before);
    }
  }
  EXPECT_EQ(chains_of_heap(), (std::vector<std::string>{"3 x GetOrder 2 > ReadRow 1 promise"}));
}

}  // namespace
}  // namespace mixstack::dotnet::objects
