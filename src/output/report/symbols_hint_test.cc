#include "output/report/symbols_hint.h"

#include <gtest/gtest.h>

#include "output/report/text.h"

namespace mixstack::report {
namespace {

/// A thread with `nameless` frames of one image without symbols, below one that has a name.
ProcessDump dump_with(std::size_t nameless) {
  ProcessDump dump;
  dump.target.pid = 4711;
  dump.symbols.resize(2);
  dump.symbols[0].name = "poll";
  dump.symbols[0].module = "libc.so.6";
  dump.symbols[1].module = "libcoreclr.so";
  dump.threads.resize(1);
  ThreadDump& thread = dump.threads[0];
  thread.tid = 4711;
  thread.captured = true;
  thread.trace.stop = StopReason::end_of_stack;
  for (std::size_t i = 0; i <= nameless; i++) {
    Frame frame;
    frame.kind = FrameKind::native;
    frame.module = i == 0 ? 0 : 1;
    thread.trace.frames.push_back(frame);
    thread.symbols.push_back(i == 0 ? 0 : 1);
  }
  return dump;
}

std::string hint(const ProcessDump& dump, bool is_idle = false, const ReportOptions& options = {}) {
  ThreadView view;
  view.thread = &dump.threads[0];
  view.is_idle = is_idle;
  return symbols_hint(dump, std::vector<ThreadView>{view}, options);
}

TEST(SymbolsHint, OfAProcessOrACore) {
  ProcessDump dump = dump_with(12);
  EXPECT_EQ(hint(dump), "12 frames without symbols: mixstack symbols fetch 4711 asks servers for them");
  dump.target.core_path = "/tmp/core\x1b";
  EXPECT_NE(hint(dump).find("mixstack symbols fetch --core /tmp/core\\x1b asks"), std::string::npos) << hint(dump);
  dump.target.core_path = "/proc/self/fd/7";
  EXPECT_NE(hint(dump).find("mixstack symbols fetch --core FILE asks"), std::string::npos) << hint(dump);
}

TEST(SymbolsHint, OnlyOfManyThatAreShown) {
  EXPECT_EQ(hint(dump_with(9)), "");
  EXPECT_EQ(hint(dump_with(12), true), "") << "of threads that have no stack in the report";
  ReportOptions managed;
  managed.managed_only = true;
  EXPECT_EQ(hint(dump_with(12), false, managed), "");
  ProcessDump nowhere = dump_with(12);
  for (Frame& frame : nowhere.threads[0].trace.frames) frame.module = kNoModule;
  EXPECT_EQ(hint(nowhere), "") << "no server has symbols of what belongs to no image";
}

TEST(SymbolsHint, IsTheLastLineOfTheText) {
  const std::string text = collect([](Writer& out) { write_text(out, dump_with(12), {}); });
  EXPECT_TRUE(text.ends_with("\n\n12 frames without symbols: mixstack symbols fetch 4711 asks servers for them\n"))
      << text;
  const std::string few = collect([](Writer& out) { write_text(out, dump_with(9), {}); });
  EXPECT_EQ(few.find("symbols fetch"), std::string::npos) << few;
}

}  // namespace
}  // namespace mixstack::report
