#include "output/report/why_html.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/page_template.h"

namespace mixstack::report {
namespace {

constexpr char kHostile[] = "</script><script>alert(1)</script>\x1b\xe2\x80\xae";

ProcessDump hostile() {
  ProcessDump dump;
  dump.target.pid = 4711;
  dump.target.executable = kHostile;
  dump.symbols.resize(2);
  dump.symbols[1].name = kHostile;
  for (const ThreadId tid : {1u, 2u}) {
    ThreadDump& t = dump.threads.emplace_back();
    t.tid = tid;
    t.comm = kHostile;
    t.captured = true;
    t.trace.frames.resize(2);
    t.symbols = {1, 0};
    t.wait.emplace();
    t.wait->kind = WaitKind::monitor;
    t.wait->object = {0x1000u * tid, kHostile, kHostile};
    t.wait->owners = {3 - tid};
  }
  return dump;
}

const std::vector<Verdict> kVerdicts{{VerdictKind::deadlock, true, {{1, 2}, {2, 1}}, 2}};

TEST(WhyHtml, DataIsJsonWithoutControlCharacters) {
  const ProcessDump dump = hostile();
  const std::string text = why_page_data(dump, kVerdicts, {});
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["pid"], 4711);
  EXPECT_EQ(json["verdicts"][0]["steps"], nlohmann::json::array({1, 2}));
  EXPECT_EQ(json["threads"][0]["wait"]["object"], "0x1000");
  EXPECT_EQ(json["threads"][0]["wait"]["owners"], nlohmann::json::array({2}));
  EXPECT_TRUE(json["busy"].is_null());
  for (const char* raw : {"\x1b", "\xe2\x80\xae"}) EXPECT_EQ(text.find(raw), std::string::npos);
}

TEST(WhyHtml, EqualStacksAreThereOnce) {
  const auto json = nlohmann::json::parse(why_page_data(hostile(), kVerdicts, {}));
  EXPECT_EQ(json["stacks"].size(), 1u);
  EXPECT_EQ(json["threads"][1]["stack"], 0);
  EXPECT_EQ(json["stacks"][0].size(), 2u);
  EXPECT_EQ(json["stacks"][0][0][0], "n");
}

TEST(WhyHtml, DeepStacksShowTheirEnds) {
  ProcessDump dump = hostile();
  dump.threads.resize(1);
  dump.threads[0].trace.frames.resize(5000);
  dump.threads[0].symbols.assign(5000, 0);
  const auto json = nlohmann::json::parse(why_page_data(dump, {}, {}));
  EXPECT_EQ(json["stacks"][0].size(), 401u);
  EXPECT_EQ(json["stacks"][0][200][1], "... 4600 frames more ...");
}

TEST(WhyHtml, NamesAreNoMarkup) {
  const ProcessDump dump = hostile();
  const std::string page = collect([&](Writer& out) { write_why_html(out, dump, kVerdicts); });
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  EXPECT_NE(page.find("<title>why 4711 &lt;/script&gt;"), std::string::npos);
  EXPECT_NE(page.find(std::string(why_template().script_hash)), std::string::npos);
}

TEST(WhyHtml, AnEmptyDump) {
  const auto json = nlohmann::json::parse(why_page_data({}, {}, {}));
  EXPECT_TRUE(json["threads"].empty());
  EXPECT_EQ(json["known"], false);
}

}  // namespace
}  // namespace mixstack::report
