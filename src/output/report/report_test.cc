#include "mixstack/report.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "output/report/text.h"
#include "support/sample_dump.h"

namespace mixstack {
namespace {

TEST(PublicReport, ErrorsInWords) {
  EXPECT_EQ(to_string(ErrorCode::no_such_process), "no_such_process");
  EXPECT_EQ(to_string(static_cast<ErrorCode>(999)), "unknown");
  EXPECT_EQ(describe(Error{ErrorCode::not_found, ENOENT, 0}), "not found: No such file or directory");
  EXPECT_EQ(describe(Error{ErrorCode::unreadable_memory, 0, 0x7f0012345678}),
            "memory that cannot be read (0x7f0012345678)");
  EXPECT_EQ(describe(StopReason::end_of_stack), "end of the stack");
}

TEST(PublicReport, EveryFrameHasALineThatTheReportHas) {
  const ProcessDump dump = testing::sample_dump();
  std::string whole;
  write_text(dump, [&whole](std::string_view piece) { whole += piece; }, {.fold = false});
  std::size_t nameless = 0;
  for (const ThreadDump& thread : dump.threads) {
    for (std::size_t i = 0; i < thread.trace.frames.size(); i++) {
      const std::string line = frame_text(dump, thread, i);
      EXPECT_FALSE(line.empty());
      EXPECT_EQ(line.find('\n'), std::string::npos);
      EXPECT_NE(whole.find(line), std::string::npos) << line;
      nameless += i < thread.symbols.size() && dump.symbols[thread.symbols[i]].name.empty() ? 1 : 0;
    }
    EXPECT_TRUE(frame_text(dump, thread, thread.trace.frames.size()).empty());
  }
  EXPECT_GT(nameless, 0U) << "the sample has frames without a name";
}

TEST(PublicReport, NothingOfTheTargetReachesATerminal) {
  Frame frame;
  frame.pc = CodeAddress::exact(0x1000);
  SymbolInfo symbol;
  symbol.name = "a\x1b[31m\nb";
  symbol.module = "m\r";
  const std::string line = frame_text(frame, symbol);
  for (const char c : line) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << line;
  EXPECT_EQ(frame_text(frame, {}), "0x1000");
}

TEST(PublicReport, WritesWhatTheCommandWrites) {
  const ProcessDump dump = testing::sample_dump();
  std::string text, json;
  write_text(dump, [&text](std::string_view piece) { text += piece; });
  write_json(dump, [&json](std::string_view piece) { json += piece; });
  EXPECT_EQ(text, report::collect([&](report::Writer& out) { report::write_text(out, dump, {}); }));
  EXPECT_EQ(json.substr(0, 1), "{");
}

}  // namespace
}  // namespace mixstack
