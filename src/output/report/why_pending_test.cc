#include "output/report/why_pending.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "dotnet/bcl/tasks.h"
#include "output/report/pending_words.h"
#include "output/report/text_async.h"
#include "output/report/why.h"

namespace mixstack::report {
namespace {

using std::chrono::milliseconds;

AsyncChain chain(ThreadId waiter, milliseconds due) {
  AsyncChain c;
  c.waiter = waiter;
  c.steps = {{"Shop.OrderApi.GetOrder(int)", 0x1000 + waiter, 0}, {"Shop.Db.ReadRow()", 0x2000 + waiter, 1}};
  c.end = AsyncEnd::delay;
  c.awaited = {0x3000, "System.Threading.Tasks.Task.DelayPromise", {}};
  c.due = due;
  return c;
}

ProcessDump dump_of_a_pool() {
  ProcessDump dump;
  PendingWork& pending = dump.runtimes.emplace_back().pending.emplace();
  ThreadPool& pool = pending.pool.emplace();
  pool.existing = pool.processing = pool.goal = 2;
  pool.max = 32767;
  pool.blocked = 2;
  pool.queued = 3;
  pool.work = {{"Shop.Db.ReadRow()", true, 2}, {"Shop.Main.Wo\x1brk()", false, 1}};
  pool.busy = {7};
  pending.timers = Timers{3, 2, 1, milliseconds(3200), false};
  pending.chains = {chain(7, milliseconds(500)), chain(0, milliseconds(90000)), chain(0, milliseconds(3200))};
  ThreadDump& waiter = dump.threads.emplace_back();
  waiter.tid = waiter.ns_tid = 7;
  waiter.wait.emplace();
  waiter.wait->kind = WaitKind::task;
  waiter.wait->object = {0x1007, "System.Threading.Tasks.Task<int>", {}};
  return dump;
}

TEST(PendingWords, ChannelsAreCalledSo) {
  AsyncChain chain;
  chain.end = AsyncEnd::source;
  const auto words = [&](const char* type) {
    chain.awaited.type = type;
    return end_words(ProcessDump(), chain);
  };
  EXPECT_EQ(words("System.Threading.Channels.BlockedReadAsyncOperation<int>"), "awaits an item of a channel");
  EXPECT_EQ(words("System.Threading.Channels.WaitingReadAsyncOperation"), "awaits an item of a channel");
  EXPECT_EQ(words("System.Threading.Channels.BlockedWriteAsyncOperation<int>"), "awaits room in a channel");
  EXPECT_EQ(words("System.Threading.Channels.Other"), "awaits System.Threading.Channels.Other");
  EXPECT_EQ(words("Shop.BlockedReadAsyncOperation"), "awaits Shop.BlockedReadAsyncOperation");
}

TEST(PendingWords, MethodsAreShort) {
  EXPECT_EQ(short_method("Shop.OrderApi.GetOrder(int, System.Collections.Generic.List<(int, int)>)"),
            "OrderApi.GetOrder");
  EXPECT_EQ(short_method("Shop.Cache<Shop.Key>.Get<System.Int32>(Shop.Key)"), "Cache<Shop.Key>.Get<System.Int32>");
  EXPECT_EQ(short_method("Shop.Program.Main(string[]).lambda#2(int, (int, int))"), "Program.Main.lambda#2");
  EXPECT_EQ(short_method("Shop.Program.Main(string[]).Local<(int, int)>(int)"), "Program.Main.Local<(int, int)>");
  EXPECT_EQ(short_method("System.Threading.Tasks.Parallel.ForEachAsync.lambda(object) [async]"),
            "Parallel.ForEachAsync.lambda");
  EXPECT_EQ(short_method("Main"), "Main");
  EXPECT_EQ(short_method("Shop.Db.ReadRow(int[]) [async]"), "Db.ReadRow");
  EXPECT_EQ(short_method("timers that are due"), "timers that are due");
  EXPECT_EQ(short_method("()"), "()");
  EXPECT_EQ(short_method(""), "");
}

TEST(PendingWords, Durations) {
  EXPECT_EQ(coarse_duration_words(milliseconds(812)), "812 ms");
  EXPECT_EQ(coarse_duration_words(milliseconds(3200)), "3.2 s");
  EXPECT_EQ(coarse_duration_words(std::chrono::minutes(59)), "59 min");
  EXPECT_EQ(coarse_duration_words(std::chrono::minutes(90)), "1.5 h");
}

TEST(PendingWords, WhatAChainComesTo) {
  ProcessDump dump;
  AsyncChain c = chain(0, milliseconds(-2000));
  EXPECT_EQ(chain_words(dump, c), "OrderApi.GetOrder > Db.ReadRow awaits Task.Delay");
  EXPECT_EQ(due_words(c), " (2.0 s late)");
  c.proof = Proof::likely;
  c.end = AsyncEnd::completed;
  c.is_queued = true;
  EXPECT_EQ(chain_words(dump, c), "OrderApi.GetOrder > Db.ReadRow is queued in the thread pool (likely)");
  EXPECT_EQ(due_words(c), "");
  c.steps.clear();
  EXPECT_EQ(chain_words(dump, c), "");
  c.end = AsyncEnd::work;
  c.work = "Shop.Db.Read()";
  EXPECT_EQ(chain_words(dump, c), "Db.Read, queued in the thread pool");
  c.is_queued = false;
  c.scheduler = "Shop.Grains\x1b";
  EXPECT_EQ(chain_words(dump, c), "Db.Read, left to the waiting thread's own task scheduler Shop.Grains\\x1b");
}

TEST(WhyPending, TextMergesEqualChains) {
  const ProcessDump dump = dump_of_a_pool();
  const std::string text = collect([&](Writer& out) { write_why_text(out, dump, {}, {}); });
  const auto has = [&](std::string_view part) { EXPECT_NE(text.find(part), std::string::npos) << text; };
  has("thread 7 waits (likely) for the async method OrderApi.GetOrder 0x1007\n");
  has("      awaits: OrderApi.GetOrder > Db.ReadRow awaits Task.Delay (due in 500 ms)\n");
  has("2 chains of async methods that no thread waits for:\n"
      "  2 x OrderApi.GetOrder > Db.ReadRow awaits Task.Delay (due in 3.2 s)\n");
  has("thread pool: 2 workers (goal 2, max 32767), 2 blocked; 3 queued: 2 x the rest of Db.ReadRow, "
      "1 x Main.Wo\\x1brk\n");
  has("Async methods that no thread, timer, queue or socket leads to are found with --heap.\n");
  has("timers: 3, 2 of Task.Delay, 1 of time-outs; the next is due in 3.2 s\n");
}

TEST(PendingWords, WorkersThatWaitForLocksAreBlockedToo) {
  ProcessDump dump = dump_of_a_pool();
  ThreadPool& pool = *dump.runtimes[0].pending->pool;
  pool.blocked = 0;
  pool.queued = 0;
  pool.work.clear();
  pool.busy = {7, 8};
  EXPECT_EQ(pool_words(dump, pool), "2 workers (goal 2, max 32767), 1 blocked; 0 queued");
}

TEST(WhyPending, AStarvedPoolIsTheFirstLine) {
  ProcessDump dump = dump_of_a_pool();
  std::vector<Verdict> verdicts{{VerdictKind::starved_pool, true, {{7, 0}}, 2}};
  const auto text = [&] { return collect([&](Writer& out) { write_why_text(out, dump, verdicts, {}); }); };
  EXPECT_TRUE(
      text().starts_with("STARVED: all 2 workers of the thread pool wait, 1 of them for work that is queued "
                         "(3 items)\n  thread 7 waits"))
      << text();
  verdicts[0].is_certain = false;
  dump.runtimes[0].pending->pool->since_dequeue = milliseconds(812);
  EXPECT_TRUE(
      text().starts_with("POSSIBLY STARVED: all 2 workers of the thread pool wait, 3 items are queued, none "
                         "taken for 812 ms\n"))
      << text();
}

TEST(WhyPending, JsonHoldsAll) {
  const ProcessDump dump = dump_of_a_pool();
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_why_json(out, dump, {}); }));
  const auto& pending = json["pending"][0];
  EXPECT_EQ(pending["pool"]["work"][0]["count"], 2);
  EXPECT_TRUE(pending["pool"]["since_dequeue_ms"].is_null());
  EXPECT_EQ(pending["timers"]["next_due_ms"], 3200);
  EXPECT_EQ(pending["chains"].size(), 3u);
  EXPECT_EQ(pending["chains"][0]["waiter"], 7);
  EXPECT_EQ(pending["chains"][0]["steps"][1]["method"], "Shop.Db.ReadRow()");
  EXPECT_EQ(pending["chains"][0]["steps"][1]["state"], 1);
  EXPECT_EQ(pending["chains"][0]["end"], "delay");
}

TEST(WhyPending, DotLeadsFromTheThreadToTheEnd) {
  const ProcessDump dump = dump_of_a_pool();
  const std::string dot = collect([&](Writer& out) { write_why_dot(out, dump, {}); });
  const auto has = [&](std::string_view part) { EXPECT_NE(dot.find(part), std::string::npos) << dot; };
  has("t7 -> m1007 [label=\"waits for\"]");
  has("m1007 -> m2007 [label=\"awaits\"]");
  has("m2007 -> e3000 [label=\"awaits\"]");
}

ProcessDump dump_of_a_heap() {
  ProcessDump dump = dump_of_a_pool();
  PendingWork& pending = *dump.runtimes[0].pending;
  pending.gc = GcState{true, 2, 268'000'000, std::nullopt, true, false, std::nullopt, 3};
  pending.heap = HeapScan{268'000'000, 0, 61, 2, false, false, 0, std::chrono::milliseconds(153), 2};
  AsyncChain many = chain(0, milliseconds(0));
  many.due.reset();
  many.end = AsyncEnd::promise;
  many.count = 40;
  pending.chains.push_back(many);
  return dump;
}

TEST(WhyPending, ChainsOfTheHeapAreCounted) {
  const ProcessDump dump = dump_of_a_heap();
  const std::string text = collect([&](Writer& out) { write_why_text(out, dump, {}, {}); });
  const auto has = [&](std::string_view part) { EXPECT_NE(text.find(part), std::string::npos) << text; };
  has("42 chains of async methods that no thread waits for:\n"
      "  40 x OrderApi.GetOrder > Db.ReadRow awaits a TaskCompletionSource\n");
  has("garbage collector: server, 2 heaps, 268 MB of small objects; 3 objects wait for a finalizer\n");
  has("heap: 268 MB searched in 153 ms, in which the process stood still (at stop 2: a collection ran at those "
      "before); "
      "61 async methods wait, 2 run\n");
}

TEST(WhyPending, WhatIsNotCountedIsSaid) {
  ProcessDump dump = dump_of_a_heap();
  HeapScan& scan = *dump.runtimes[0].pending->heap;
  scan.has_fsharp_async = true;
  const auto text = [&] { return collect([&](Writer& out) { write_why_text(out, dump, {}, {}); }); };
  EXPECT_NE(text().find("61 async methods wait, 2 run; computations of F#'s async { } are not counted\n"),
            std::string::npos)
      << text();
  scan.fsharp_results = 2;
  EXPECT_NE(text().find("2 run; besides, 2 results of F#'s async { } are outstanding, whose computations are not "
                        "followed\n"),
            std::string::npos)
      << text();
}

TEST(WhyPending, WhyTheHeapWasNotSearchedIsSaid) {
  ProcessDump dump = dump_of_a_pool();
  dump.runtimes[0].pending->no_heap = "its size is above the limit";
  const std::string text = collect([&](Writer& out) { write_why_text(out, dump, {}, {}); });
  EXPECT_NE(text.find("Not known: the heap was not searched: its size is above the limit\n"), std::string::npos)
      << text;
}

TEST(WhyPending, ATaskOfASourceIsToldByTheSource) {
  ProcessDump dump = dump_of_a_pool();
  AsyncChain alone = chain(0, milliseconds(0));
  alone.due.reset();
  alone.end = AsyncEnd::source;
  for (const auto& [type, words] : {std::pair{dotnet::bcl::kBlockedRead, "an item of a channel"},
                                    std::pair{dotnet::bcl::kPipeReader, "bytes of a PipeReader"},
                                    std::pair{dotnet::bcl::kTimerTicks, "the next tick of a PeriodicTimer"}}) {
    alone.awaited.type = type;
    EXPECT_TRUE(chain_words(dump, alone).ends_with(std::string(" awaits ") + words)) << chain_words(dump, alone);
  }
  alone.steps.clear();
  EXPECT_EQ(chain_words(dump, alone), "the next tick of a PeriodicTimer");
  alone.end = AsyncEnd::promise;
  EXPECT_EQ(chain_words(dump, alone), "");
}

TEST(WhyPending, JsonHasTheHeap) {
  const ProcessDump dump = dump_of_a_heap();
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_why_json(out, dump, {}); }));
  const auto& pending = json["pending"][0];
  EXPECT_EQ(pending["heap"]["suspended"], 61);
  EXPECT_EQ(pending["heap"]["pause_us"], 153000);
  EXPECT_EQ(pending["gc"]["finalizable"], 3);
  EXPECT_TRUE(pending["gc"]["collections"].is_null());
  EXPECT_EQ(pending["chains"][3]["count"], 40);
}

TEST(AsyncText, ChainsAreLikeStacks) {
  const ProcessDump dump = dump_of_a_heap();
  ReportOptions options;
  const auto text = [&] {
    return collect([&](Writer& out) {
      Painter painter(out, false);
      write_async_text(painter, dump, options);
    });
  };
  const std::string alone = text();
  EXPECT_TRUE(
      alone.starts_with("\nAsync chain: the innermost awaits Task.Delay (due in 500 ms), thread 7 waits for it\n"
                        "    Shop.Db.ReadRow()\n    Shop.OrderApi.GetOrder(int)\n"))
      << alone;
  options.merge = true;
  const std::string merged = text();
  EXPECT_TRUE(
      merged.starts_with("\n40 async chains: the innermost awaits a TaskCompletionSource\n"
                         "    Shop.Db.ReadRow()\n    Shop.OrderApi.GetOrder(int)\n\n"
                         "3 async chains: the innermost awaits Task.Delay (due in 500 ms), thread 7"))
      << merged;
}

}  // namespace
}  // namespace mixstack::report
