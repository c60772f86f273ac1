#include "output/report/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "support/golden.h"
#include "support/sample_dump.h"

namespace mixstack::report {
namespace {

using testing::expect_golden;
using testing::sample_dump;

std::string text_of(const ProcessDump& dump, const ReportOptions& options = {}) {
  return collect([&](Writer& out) { write_text(out, dump, options); });
}

TEST(Text, PlainDump) { expect_golden("report/plain.txt", text_of(sample_dump())); }

TEST(Text, MergedDump) {
  ReportOptions options;
  options.merge = true;
  expect_golden("report/merged.txt", text_of(sample_dump(), options));
}

TEST(Text, ManagedFramesOnly) {
  ReportOptions options;
  options.managed_only = true;
  expect_golden("report/managed_only.txt", text_of(sample_dump(), options));
}

TEST(Text, ArgumentsStandBelowTheirFrame) {
  ProcessDump dump = sample_dump();
  dump.threads.resize(1);
  dump.threads[0].arguments = {{3, {{"count", "int", ValueState::told, "3", 0, {}, {}}}}};
  ReportOptions options;
  options.arguments = true;
  const std::string text = text_of(dump, options);
  const std::size_t frame = text.find("M Shop.Cart.Add(Int32)");
  ASSERT_NE(frame, std::string::npos);
  const std::size_t end = text.find('\n', frame);
  EXPECT_EQ(text.substr(end, text.find('\n', end + 1) - end), "\n                      count: int = 3");
  EXPECT_EQ(text_of(dump).find("count: int"), std::string::npos);
}

TEST(Text, AsyncCallersStandBelowTheStack) {
  ProcessDump dump = sample_dump();
  AsyncCaller caller;
  caller.frame.kind = FrameKind::managed;
  caller.frame.pc = CodeAddress::exact(0x7f0000001234);
  caller.symbol = 3;
  dump.threads[0].async_callers = {caller, {{}, 1000, 0x1000, 0}};
  EXPECT_NE(text_of(dump).find("      7f0000001234 A Shop.Cart.Add(Int32)"), std::string::npos) << text_of(dump);
}

TEST(Text, ExplainedWithRegisters) {
  ProcessDump dump = sample_dump();
  dump.threads.resize(1);
  Trace& trace = dump.threads[0].trace;
  Registers registers(Arch::x86_64);
  for (unsigned reg : {0u, 3u, 6u, 7u, 16u}) registers.set(reg, 0x1000 + reg);
  trace.registers = {registers};
  trace.frames[0].registers = 1;
  trace.evidence = {{StepperId::managed, {ErrorCode::not_found, 0, 0}, 0},
                    {StepperId::eh_frame, {}, 0},
                    {StepperId::eh_frame, {ErrorCode::no_unwind_info, 0, 0x7f12a06fa1c5}, 4}};
  ReportOptions options;
  options.explain = options.registers = true;
  expect_golden("report/explained.txt", text_of(dump, options));
}

TEST(Text, NothingOfTheTargetReachesTheTerminalUnescaped) {
  ProcessDump dump = sample_dump();
  const std::string evil = "a\x1b]0;owned\x07\n\xff\xe2\x80\xae\xc2\x9bz";
  dump.target.executable = dump.target.command_line[1] = evil;
  dump.runtimes[0].kind = dump.runtimes[0].version = evil;
  dump.diagnoses[0].subject = dump.diagnoses[0].text = evil;
  for (SymbolInfo& s : dump.symbols) s.name = s.raw_name = s.module = s.file = s.note = evil;
  for (ThreadDump& t : dump.threads) {
    t.comm = evil;
    if (!t.managed) continue;
    t.managed->name = evil;
    for (ExceptionInFlight& e : t.managed->exceptions)
      for (ManagedException& x : e.chain) x.type = x.message = evil;
    if (t.managed->abort) t.managed->abort->message = evil;
  }
  const std::string text = text_of(dump);
  for (const char* bad : {"\x1b", "\x07", "\xff", "\xe2\x80\xae", "\xc2\x9b"})
    EXPECT_EQ(text.find(bad), std::string::npos) << "found a raw " << ::testing::PrintToString(std::string(bad));
  EXPECT_NE(text.find("a\\x1b]0;owned\\x07\\n\\xff\\u{202e}\\u{009b}z"), std::string::npos);
}

TEST(Text, AThreadThatWasNotStoppedSaysSo) {
  ProcessDump dump = sample_dump();
  dump.threads[0].late = std::chrono::milliseconds(2034);
  EXPECT_EQ(text_of(dump).find("without a stop"), std::string::npos);
  dump.threads[0].not_stopped = true;
  const std::string text = text_of(dump);
  EXPECT_NE(text.find(", late by 2034.0 ms, looked at without a stop"), std::string::npos) << text;
}

TEST(Text, AThreadThatIsOnlyListedHasNoIdAndNoMode) {
  ProcessDump dump = sample_dump();
  dump.threads[0].managed.emplace().is_only_listed = true;
  const std::string text = text_of(dump);
  EXPECT_NE(text.find(", managed, sleeping in futex"), std::string::npos) << text;
}

TEST(Text, WhatTheKernelAndTheRuntimeSayOfWaiting) {
  using namespace std::chrono_literals;
  ProcessDump dump = sample_dump();
  dump.threads[0].facts.object = "futex 0x7f12a0001234";
  dump.threads[0].facts.off_cpu = 42s;
  dump.threads[2].facts.off_cpu = 900ms;
  dump.usage = ProcessUsage{90s, 3h, 1.25, 20ms, 412'000'000, "0123456789ab"};
  dump.runtimes[0].suspension = Suspension{4711, {4712, 4713}};
  const std::string text = text_of(dump);
  EXPECT_NE(text.find("preemptive, sleeping in futex(0x7f12a0001234), last ran 42 s ago\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("900"), std::string::npos) << text;
  EXPECT_NE(text.find("up 3 h, 412 MB, 90.00 s CPU, 1.2 CPUs busy in these 20.0 ms, container 0123456789ab\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("thread 4711 stops the runtime's threads (a garbage collection, mostly) and waits for 2 in "
                      "cooperative mode: 4712, 4713\n"),
            std::string::npos)
      << text;
  dump.runtimes[0].suspension->waits_for.clear();
  EXPECT_NE(text_of(dump).find("thread 4711 has stopped the runtime's threads"), std::string::npos);
  // Threads in one group wait for the same thing, at addresses of their own.
  ReportOptions merged;
  merged.merge = true;
  EXPECT_EQ(text_of(dump, merged).find("futex(0x"), std::string::npos);
  dump.threads[2].facts.off_cpu = 130s;
  EXPECT_NE(text_of(dump, merged)
                .find("2 threads with this stack: .NET TP Worker \"cart\", preemptive, sleeping in futex, "
                      "last ran 42 s to 2 min ago\n"),
            std::string::npos)
      << text_of(dump, merged);
}

TEST(Text, ColourWrapsButDoesNotChangeTheWords) {
  ReportOptions options;
  options.color = true;
  std::string text = text_of(sample_dump(), options);
  ASSERT_NE(text.find("\x1b[32m"), std::string::npos);
  for (std::size_t at; (at = text.find("\x1b[")) != std::string::npos;) text.erase(at, text.find('m', at) - at + 1);
  EXPECT_EQ(text, text_of(sample_dump()));
}

TEST(Text, EndlessRecursionIsFoldedUnlessToldNotTo) {
  const std::string text = text_of(testing::endless_recursion());
  EXPECT_NE(text.find("\n                     ... 24,499 more times the 2 frames above\n"), std::string::npos) << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 20);
  ReportOptions options;
  options.fold = false;
  const std::string whole = text_of(testing::endless_recursion(), options);
  EXPECT_GT(std::count(whole.begin(), whole.end(), '\n'), 49'000);
  EXPECT_EQ(whole.find("more times"), std::string::npos);
}

TEST(Text, FuncletsSayWhatTheyAre) {
  ProcessDump dump = sample_dump();
  dump.threads.resize(1);
  Frame& managed = dump.threads[0].trace.frames[2];
  ASSERT_EQ(managed.kind, FrameKind::managed);
  const std::pair<FuncletKind, std::string_view> words[] = {{FuncletKind::catch_handler, "[catch]"},
                                                            {FuncletKind::filter, "[filter]"},
                                                            {FuncletKind::finally, "[finally]"},
                                                            {FuncletKind::fault, "[fault]"},
                                                            {FuncletKind::unknown, "[funclet]"}};
  for (const auto& [kind, word] : words) {
    managed.funclet = kind;
    EXPECT_NE(text_of(dump).find(" " + std::string(word)), std::string::npos) << word;
  }
  // A note from the source counts more.
  managed.funclet = FuncletKind::fault;
  dump.symbols[2].note = "finally";
  EXPECT_NE(text_of(dump).find(" [finally]"), std::string::npos);
  EXPECT_EQ(text_of(dump).find("[fault]"), std::string::npos);
}

TEST(Text, IndexesOutOfRangeAreUnnamedFrames) {
  ProcessDump dump = sample_dump();
  dump.threads[0].symbols = {99, 0};
  dump.threads[0].trace.frames[0].registers = 7;
  ReportOptions options;
  options.registers = true;
  EXPECT_NE(text_of(dump, options).find("0x7f12ab10d19d"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::report
