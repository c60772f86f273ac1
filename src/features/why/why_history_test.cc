#include <gtest/gtest.h>

#include <string>

#include "mixstack/why.h"

namespace mixstack {
namespace {

TEST(WhyHistory, ComparesEachAnswerWithTheOneBefore) {
  WhyHistory history;
  EXPECT_EQ(history.last(), nullptr);
  WhyAnswer first;
  first.dump.target.pid = 7;
  EXPECT_FALSE(history.add(first, "10:00:00").unmoved);
  ASSERT_NE(history.last(), nullptr);
  EXPECT_EQ(history.last()->dump.target.pid, 7u);
  WhyAnswer second;
  second.dump.target.pid = 8;
  const WhySince since = history.add(second, "10:00:10");
  EXPECT_TRUE(since.unmoved);
  EXPECT_TRUE(since.changes.empty());
  EXPECT_EQ(history.last()->dump.target.pid, 8u);
}

TEST(WhyHistory, AnAnswerIsWrittenInEveryForm) {
  WhyAnswer answer;
  const auto written = [](const auto& write) {
    std::string text;
    write([&text](std::string_view piece) { text += piece; });
    return text;
  };
  EXPECT_TRUE(written([&](const ReportSink& sink) { write_html(answer, sink); }).starts_with("<!"));
  EXPECT_TRUE(written([&](const ReportSink& sink) { write_dot(answer, sink); }).starts_with("digraph"));
  EXPECT_TRUE(written([&](const ReportSink& sink) { write_json(answer, sink, {}); }).starts_with("{"));
  EXPECT_FALSE(written([&](const ReportSink& sink) { write_text(answer, sink, {}, {}); }).empty());
}

}  // namespace
}  // namespace mixstack
