#include "features/top/table_text.h"

#include <gtest/gtest.h>

namespace mixstack::top {
namespace {

TEST(TableText, WideAndCombiningCharacters) {
  EXPECT_EQ(columns_of("abc"), 3u);
  EXPECT_EQ(columns_of("\xc3\xa9"), 1u);                  // e acute
  EXPECT_EQ(columns_of("e\xcc\x81"), 1u);                 // the same of two
  EXPECT_EQ(columns_of("\xe6\x96\x87\xe5\xad\x97"), 4u);  // two Chinese characters
  EXPECT_EQ(columns_of("\xff"), 1u);
}

TEST(TableText, NamesLoseTheirMiddle) {
  EXPECT_EQ(shorten("Namespace.Type.Method(int)", 26), "Namespace.Type.Method(int)");
  for (std::size_t most = 0; most < 30; most++) {
    const std::string text = shorten("Namespace.Type.Method(int)", most);
    EXPECT_LE(columns_of(text), most);
    EXPECT_EQ(text.find("…") != std::string::npos, most >= 1 && most < 26) << text;
    const std::string wide = shorten("\xe6\x96\x87\xe5\xad\x97\xe6\x96\x87\xe5\xad\x97", most);
    EXPECT_LE(columns_of(wide), most);
  }
  EXPECT_EQ(shorten("Namespace.Type.Method(int)", 10), "Nam…d(int)");
}

TEST(TableText, LinesFitTheTerminal) {
  Browser browser;
  const Row row{
      .name = std::string(300, 'n'), .module = std::string(50, 'm'), .self = 1'500'000'000, .total = 3'000'000'000};
  for (const std::size_t width : {1u, 20u, 40u, 79u, 80u, 132u, 200u}) {
    EXPECT_LE(columns_of(row_line(browser, row, 6'000'000'000, width)), width);
    EXPECT_LE(columns_of(title_line(browser, width)), width);
    for (const std::string& line :
         head_lines({.command = std::string(500, 'c'), .source = std::string(500, 's')}, width))
      EXPECT_LE(columns_of(line), width);
  }
  const std::string line = row_line(browser, row, 6'000'000'000, 120);
  EXPECT_NE(line.find("25.00"), std::string::npos) << line;
  EXPECT_NE(line.find("50.00"), std::string::npos) << line;
}

TEST(TableText, InAPipeNothingIsCutAndWordsStayInTheirPlaces) {
  Browser browser;
  const std::string name = "A<" + std::string(300, 'n') + ">.M(int, int)";
  EXPECT_EQ(row_line(browser, {.name = name, .self = 1, .total = 1}, 4, 0),
            "  25.00   25.00     0.000  -                         " + name);
  EXPECT_EQ(row_line(browser, {.name = "f", .module = "libc.so.6"}, 0, 0),
            "   0.00    0.00     0.000  libc.so.6                 f");
  EXPECT_EQ(row_line(browser, {.name = "f", .module = "System.Private.CoreLib.dll"}, 0, 0),
            "   0.00    0.00     0.000  System.Private.CoreLib.dll  f");
  browser.show_threads(true);
  Row thread{.name = "worker [tid 12]", .module = "Work()", .tid = 12, .self = 30, .total = 30};
  thread.states = {30, 0, 10, 0};
  thread.gc = 4;
  EXPECT_EQ(row_line(browser, thread, 60, 0),
            "  50.00     0.000   75.0    0.0   25.0   10.0  Work()                    worker [tid 12]");
  thread.module = std::string(60, 'f');
  EXPECT_NE(row_line(browser, thread, 60, 0).find(std::string(60, 'f') + "  worker [tid 12]"), std::string::npos);
}

TEST(TableText, LongTextsBecomeLinesAtSpaces) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(wrapped("one two three", 7), (Lines{"one two", "three"}));
  EXPECT_EQ(wrapped("one two three", 6), (Lines{"one", "two", "three"}));
  EXPECT_EQ(wrapped("onetwothree", 4), (Lines{"onet", "woth", "ree"}));
  EXPECT_EQ(wrapped("one two three", 0), (Lines{"one two three"}));
  EXPECT_EQ(wrapped("one", 3), (Lines{"one"}));
  EXPECT_EQ(wrapped("", 3), (Lines{""}));
  EXPECT_EQ(wrapped("\u4e00\u4e00 x", 1), (Lines{"\u4e00\u4e00 x"})) << "that cannot be";
}

TEST(TableText, TheHeadSaysHowAndWhyNotBetter) {
  const auto lines = head_lines({.pid = 12,
                                 .command = "dotnet app.dll",
                                 .elapsed_ns = 2'000'000'000,
                                 .samples = 200,
                                 .lost = 3,
                                 .own_cpu_ns = 20'000'000,
                                 .threads = 9,
                                 .source = "stops by ptrace",
                                 .notes = {"no perf events: \x1b"}},
                                0);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "mixstack top: pid 12 dotnet app.dll");
  EXPECT_EQ(lines[1], "2.0 s, 200 samples, 3 lost, own CPU 1.0 %, 9 threads");
  EXPECT_EQ(head_lines({.samples = 1, .rounds_left_out = 7}, 0)[1],
            "0.0 s, 1 sample, 0 lost, 7 rounds left out, own CPU -, 0 threads");
  EXPECT_EQ(lines[2], "by stops by ptrace");
  EXPECT_EQ(lines[3], "  no perf events: \\x1b");
}

}  // namespace
}  // namespace mixstack::top
