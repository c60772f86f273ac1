#include "output/report/why.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/wait_words.h"

namespace mixstack::report {
namespace {

ProcessDump deadlock() {
  ProcessDump dump;
  dump.target.pid = 4711;
  for (const ThreadId tid : {1u, 2u}) {
    ThreadDump t;
    t.tid = tid;
    t.comm = tid == 1 ? "one" : "t\x1bwo";
    t.wait.emplace();
    t.wait->kind = WaitKind::monitor;
    t.wait->proof = Proof::recorded;
    t.wait->object = {0x1000u * tid, "Bank.Account\"", {}};
    t.wait->owners = {3 - tid};
    dump.threads.push_back(t);
  }
  return dump;
}

const std::vector<Verdict> kVerdicts{{VerdictKind::deadlock, true, {{1, 2}, {2, 1}}, 2}};

TEST(Why, TheFirstLineIsTheAnswer) {
  const ProcessDump dump = deadlock();
  const std::string text = collect([&](Writer& out) { write_why_text(out, dump, kVerdicts, {}); });
  EXPECT_TRUE(text.starts_with("DEADLOCK: 2 threads wait for each other in a cycle\n")) << text;
  EXPECT_NE(text.find("thread 1 \"one\" waits for the monitor of Bank.Account\" 0x1000, held by 2 \"t\\x1bwo\""),
            std::string::npos)
      << text;
}

TEST(Why, WordsSayWhatOwnersAreToThoseWhoWait) {
  ProcessDump dump = deadlock();
  ThreadDump& thread = dump.threads[0];
  const auto words = [&](WaitKind kind, const std::string& type) {
    thread.wait->kind = kind;
    thread.wait->object = {0, type, {}};
    return wait_words(dump, thread);
  };
  EXPECT_EQ(words(WaitKind::finalizers, ""), "waits for all finalizers, run by 2 \"t\\x1bwo\"");
  EXPECT_EQ(words(WaitKind::callback, "Shop.Source"),
            "waits for the end of a callback of Shop.Source, run by 2 \"t\\x1bwo\"");
  EXPECT_EQ(words(WaitKind::wait_handle, "System.Threading.ManualResetEvent"),
            "waits for the handle System.Threading.ManualResetEvent, to be set by 2 \"t\\x1bwo\"");
  EXPECT_EQ(words(WaitKind::wait_handle, "System.Threading.Mutex"),
            "waits for the handle System.Threading.Mutex, held by 2 \"t\\x1bwo\"");
}

TEST(Why, WhoStopsTheOthersWaitsForThem) {
  ProcessDump dump = deadlock();
  dump.threads[0].wait.emplace().kind = WaitKind::sleep;
  dump.threads[0].wait->proof = Proof::recorded;
  dump.runtimes.emplace_back().suspension = Suspension{1, {2}};
  EXPECT_EQ(wait_words(dump, dump.threads[0]), "waits until the runtime's other threads have stopped");
  dump.runtimes[0].suspension->waits_for.clear();
  EXPECT_EQ(wait_words(dump, dump.threads[0]), "waits for time to pass");
}

/// A awaits B and B awaits A; thread 1 waits for A.
std::pair<ProcessDump, Verdict> await_cycle() {
  ProcessDump dump = deadlock();
  dump.threads.resize(1);
  dump.threads[0].wait->kind = WaitKind::task;
  dump.threads[0].wait->owners.clear();
  AsyncChain& chain = dump.runtimes.emplace_back().pending.emplace().chains.emplace_back();
  chain.waiter = 1;
  chain.steps = {{"Bank.Orders.A()", 0x1000, 0}, {"Bank.Prices.B\x1b()", 0x2000, 1}};
  chain.end = AsyncEnd::cycle;
  chain.awaited.address = 0x1000;
  return {std::move(dump), {VerdictKind::await_cycle, true, {{1, 0}}, 1, chain.steps, 1}};
}

TEST(Why, MethodsThatAwaitEachOtherAreNamed) {
  auto [dump, verdict] = await_cycle();
  const auto text = [&, &dump = dump, &verdict = verdict] {
    return collect([&](Writer& out) { write_why_text(out, dump, {&verdict, 1}, {}); });
  };
  EXPECT_TRUE(
      text().starts_with("DEADLOCK: 2 async methods await each other in a cycle, 1 thread waits for it\n"
                         "  Orders.A 0x1000 awaits Prices.B\\x1b (await 1)\n"
                         "  Prices.B\\x1b 0x2000 awaits Orders.A (await 2)\n"
                         "  thread 1 \"one\" waits for the async method Orders.A 0x1000\n"
                         "      awaits: Orders.A > Prices.B\\x1b awaits Orders.A again, in a cycle\n"))
      << text();
  verdict.cycles = 12;
  verdict.is_certain = false;
  verdict.threads = 0;
  EXPECT_TRUE(text().starts_with("POSSIBLE DEADLOCK: 2 async methods await each other in a cycle, 12 such cycles\n"))
      << text();
  verdict.methods.resize(1);
  EXPECT_TRUE(text().starts_with("POSSIBLE DEADLOCK: the async method Orders.A awaits itself, 12 such cycles\n"))
      << text();
}

TEST(Why, MethodsThatAwaitEachOtherInJsonAndDot) {
  auto [dump, verdict] = await_cycle();
  const auto json = nlohmann::json::parse(collect([&, &dump = dump, &verdict = verdict](Writer& out) {
    write_why_json(out, dump, {&verdict, 1});
  }));
  EXPECT_EQ(json["verdicts"][0]["kind"], "await_cycle");
  EXPECT_EQ(json["verdicts"][0]["methods"][1]["box"], "0x2000");
  EXPECT_EQ(json["verdicts"][0]["cycles"], 1);
  EXPECT_EQ(json["pending"][0]["chains"][0]["end"], "cycle");
  const std::string dot = collect([&, &dump = dump, &verdict = verdict](Writer& out) {
    write_why_dot(out, dump, {&verdict, 1});
  });
  EXPECT_NE(dot.find("  t1 -> m1000"), std::string::npos) << dot;
  EXPECT_NE(dot.find("  m1000 -> m2000 [label=\"awaits\"];"), std::string::npos) << dot;
  EXPECT_NE(dot.find("  m2000 -> m1000 [label=\"awaits\", color=red"), std::string::npos) << dot;
}

TEST(Why, WithoutARuntimeNothingIsKnown) {
  const std::string text = collect([](Writer& out) { write_why_text(out, ProcessDump{}, {}, {}); });
  EXPECT_TRUE(text.starts_with("Nothing can be told")) << text;
  EXPECT_NE(text.find("Not known: there is no .NET runtime"), std::string::npos) << text;
}

TEST(Why, ARuntimeThatDoesNotTellIsNoHealthyOne) {
  ProcessDump dump;
  dump.runtimes.emplace_back();
  const auto text = [&] { return collect([&](Writer& out) { write_why_text(out, dump, {}, {}); }); };
  EXPECT_TRUE(text().starts_with("Nothing is stuck")) << text();
  EXPECT_TRUE(knows_waits(dump));
  dump.diagnoses.push_back({{ErrorCode::field_unavailable, 0, 0}, std::string(kWaitsSubject), "no heap"});
  EXPECT_TRUE(text().starts_with("Nothing can be told")) << text();
  EXPECT_NE(text().find("Not known: no heap"), std::string::npos);
  const Busyness busy;
  const WhyExtras extras{.busy = &busy, .unmoved = nullptr};
  const std::string with_busy = collect([&](Writer& out) { write_why_text(out, dump, {}, {}, extras); });
  EXPECT_TRUE(with_busy.starts_with("Nothing can be told")) << "what runs comes after it: " << with_busy;
  EXPECT_FALSE(knows_waits(dump));
}

TEST(Why, JsonHoldsTheGraph) {
  const ProcessDump dump = deadlock();
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_why_json(out, dump, kVerdicts); }));
  EXPECT_EQ(json["pid"], 4711);
  EXPECT_EQ(json["verdicts"][0]["kind"], "deadlock");
  EXPECT_EQ(json["verdicts"][0]["steps"][1]["waits_for"], 1);
  const auto& wait = json["threads"][0]["wait"];
  EXPECT_EQ(wait["kind"], "monitor");
  EXPECT_EQ(wait["type"], "Bank.Account\"");
  EXPECT_EQ(wait["owners"], nlohmann::json::array({2}));
  EXPECT_TRUE(wait["timeout_ms"].is_null());
  EXPECT_EQ(wait["gives_up"], false);
}

TEST(Why, DotHasEachThreadAndObjectOnce) {
  const ProcessDump dump = deadlock();
  const std::string dot = collect([&](Writer& out) { write_why_dot(out, dump, kVerdicts); });
  EXPECT_NE(dot.find("t1 [shape=box, label=\"1 \\\"one\\\"\", color=red"), std::string::npos) << dot;
  EXPECT_NE(dot.find("o1000 [shape=ellipse, label=\"Bank.Account\\\"\"]"), std::string::npos) << dot;
  EXPECT_NE(dot.find("o1000 -> t2"), std::string::npos) << dot;
}

TEST(Why, ThreadsThatWaitAlikeAreOneEntry) {
  ProcessDump dump = deadlock();
  for (ThreadDump& t : dump.threads) t.wait->owners.clear();
  dump.threads.push_back(dump.threads[0]);
  dump.threads[2].tid = 3;
  const auto text = [&] { return collect([&](Writer& out) { write_why_text(out, dump, {}, {}); }); };
  EXPECT_NE(
      text().find("  3 threads, for 2 different ones, 1 one of them: waits for the monitor of Bank.Account\" 0x1000\n"),
      std::string::npos)
      << text();
  dump.threads[2].wait->object.address = 0x3000;
  EXPECT_NE(text().find("  3 threads, each for one of its own, 1 one of them: "), std::string::npos) << text();
  dump.threads[2].wait->object.type = "Other";
  dump.threads[1].wait->object.address = 0x1000;
  EXPECT_NE(text().find("  2 threads, 1 one of them: waits for"), std::string::npos) << text();
}

TEST(WaitWords, AnOwnerThatHasEnded) {
  ProcessDump dump = deadlock();
  dump.threads[0].wait->owners.clear();
  dump.threads[0].wait->owner_has_ended = true;
  EXPECT_EQ(wait_words(dump, dump.threads[0]), "waits for the monitor of Bank.Account\" 0x1000, whose owner has ended");
  const std::vector<Verdict> verdicts{{VerdictKind::orphaned_lock, true, {{1, 0}}, 1}};
  const std::string text = collect([&](Writer& out) { write_why_text(out, dump, verdicts, {}); });
  EXPECT_TRUE(
      text.starts_with("ORPHANED LOCK: 1 thread waits for a lock that nobody can leave: the owner of "
                       "Bank.Account\" has ended\n"))
      << text;
}

TEST(WaitWords, AWaitThatGivesUp) {
  ProcessDump dump = deadlock();
  dump.threads[0].wait->kind = WaitKind::native_rwlock;
  dump.threads[0].wait->object.type.clear();
  dump.threads[0].wait->is_reading = dump.threads[0].wait->gives_up = true;
  EXPECT_EQ(wait_words(dump, dump.threads[0]),
            "waits for a native read-write lock 0x1000 to read, held by 2 \"t\\x1bwo\", may time out");
}

TEST(Why, ThreadsThatDidNotStopWithTheOthersAreCounted) {
  ProcessDump dump = deadlock();
  for (ThreadDump& t : dump.threads) t.captured = true;
  EXPECT_EQ(threads_apart(dump), 0u);
  dump.threads[0].late = std::chrono::milliseconds(3);
  dump.threads[1].captured = false;
  dump.threads[1].capture_error.code = ErrorCode::thread_not_stopped;
  dump.threads[1].kernel_state = 'D';
  EXPECT_EQ(threads_apart(dump), 1u) << "and one that nobody can stop";
  dump.threads[1].kernel_state = 'R';
  EXPECT_EQ(threads_apart(dump), 2u);
  const std::string text = collect([&](Writer& out) { write_why_text(out, dump, {}, {}); });
  EXPECT_NE(text.find("Not known: what 2 threads wait for, which did not stop with the others."), std::string::npos)
      << text;
}

TEST(Why, WhoIsHeldUpForHowLongOneLookDoesNotTell) {
  const ProcessDump dump = deadlock();
  for (const bool is_certain : {true, false}) {
    const std::vector<Verdict> verdicts{{VerdictKind::chain, is_certain, {{1, 2}, {2, 0}}, 3}};
    const std::string text = collect([&](Writer& out) { write_why_text(out, dump, verdicts, {}); });
    EXPECT_TRUE(text.starts_with(is_certain ? "HELD UP: 3 threads" : "POSSIBLY HELD UP: 3 threads")) << text;
  }
}

TEST(WaitWords, ASocketThatAnObjectStandsForIsNotToldByTheCall) {
  ThreadWait wait;
  wait.kind = WaitKind::socket;
  wait.proof = Proof::recorded;
  EXPECT_TRUE(is_told_by_call(wait));
  wait.proof = Proof::proved;
  EXPECT_FALSE(is_told_by_call(wait)) << "the thread's call is on a futex";
  ProcessDump dump = deadlock();
  wait.object = {0x1000, "tcp 127.0.0.1:1 -> 127.0.0.1:2", "the other end is held by this process"};
  dump.threads[0].wait = wait;
  EXPECT_EQ(wait_words(dump, dump.threads[0]),
            "waits for a socket, tcp 127.0.0.1:1 -> 127.0.0.1:2 (the other end is held by this process)");
}

TEST(WaitWords, ThePlaceIsTheProgramsWhateverIsInlinedThere) {
  ProcessDump dump = deadlock();
  dump.symbols.resize(4);
  dump.symbols[1].name = "System.Lazy<T>.Value.get";
  dump.symbols[1].module = "System.Private.CoreLib";
  dump.symbols[1].inlined_into = 2;
  dump.symbols[2].name = "Bank.Get()";
  dump.symbols[2].module = "Bank";
  dump.symbols[2].file = "Bank.cs";
  dump.symbols[2].line = 42;
  dump.symbols[2].inlined_into = 3;
  dump.symbols[3] = dump.symbols[2];
  dump.symbols[3].name = "Bank.Main()";
  dump.symbols[3].inlined_into = 0;
  Frame frame;
  frame.kind = FrameKind::managed;
  dump.threads[0].trace.frames = {frame};
  dump.threads[0].symbols = {1};
  EXPECT_EQ(place_words(dump, dump.threads[0]), "Bank.Get() in Bank.cs:42");
  dump.threads[0].symbols = {0};
  EXPECT_EQ(place_words(dump, dump.threads[0]), "");
  dump.symbols[1].inlined_into = 0;
  dump.threads[0].symbols = {1};
  EXPECT_EQ(place_words(dump, dump.threads[0]), "System.Lazy<T>.Value.get") << "there is no other";
}

TEST(WaitWords, WhatIsOnlyLikelySaysSo) {
  ProcessDump dump = deadlock();
  dump.threads[0].wait->proof = Proof::likely;
  dump.threads[0].wait->timeout = std::chrono::milliseconds(250);
  const std::string words = wait_words(dump, dump.threads[0]);
  EXPECT_TRUE(words.starts_with("waits (likely) for")) << words;
  EXPECT_TRUE(words.ends_with("at most 250 ms")) << words;
  dump.threads[0].wait.reset();
  EXPECT_EQ(wait_words(dump, dump.threads[0]), "");
}

}  // namespace
}  // namespace mixstack::report
