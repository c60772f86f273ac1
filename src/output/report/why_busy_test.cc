#include "output/report/why_busy.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/why.h"

namespace mixstack::report {
namespace {

Busyness busy() {
  Busyness busy;
  busy.duration_ns = 1'000'000'000;
  busy.cpu_ns = 1'900'000'000;
  busy.samples = 100;
  busy.kinds[static_cast<std::size_t>(BusyKind::program)] = 92;
  busy.kinds[static_cast<std::size_t>(BusyKind::gc)] = 8;
  busy.threads = {{7, "wor\x1bker", 100}};
  busy.functions = {{"Shop.Cart.Add(int)", "Cart.cs:42", BusyKind::program, 61, 92, busy.threads}};
  busy.source = "perf events (cycles)";
  busy.notes = {"a note"};
  return busy;
}

std::string text_of(const Busyness& what) {
  const ProcessDump dump;
  return collect([&](Writer& out) { write_why_text(out, dump, {}, {}, {.busy = &what}); });
}

TEST(WhyBusy, TheFirstLineIsTheAnswer) {
  const std::string text = text_of(busy());
  EXPECT_TRUE(
      text.starts_with("BUSY: 1.9 processors, 92 % in methods of the program: 61 % in Shop.Cart.Add(int) in "
                       "Cart.cs:42\n    8 % garbage collections\n"))
      << text;
  EXPECT_NE(text.find("   61 %    92 %  Shop.Cart.Add(int) in Cart.cs:42  (thread 7 \"wor\\x1bker\")\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("100 samples in 1.00 s by perf events (cycles)\n  Note: a note\n"), std::string::npos) << text;
}

TEST(WhyBusy, MethodsThatMayBeCompiledIntoTheBusiestAreNamed) {
  Busyness what = busy();
  what.functions[0].self = 92;
  what.functions[0].may_contain = {"Shop.Cart.Round(int)", "Shop.Tax.Of(decimal)"};
  EXPECT_EQ(
      busy_headline(what),
      "BUSY: 1.9 processors, 92 % in methods of the program: Shop.Cart.Add(int) in Cart.cs:42, with Round and Of, "
      "which may be compiled into it");
  const ProcessDump dump;
  const auto json =
      nlohmann::json::parse(collect([&](Writer& out) { write_why_json(out, dump, {}, {.busy = &what}); }));
  EXPECT_EQ(json["busy"]["functions"][0]["may_contain"][1], "Shop.Tax.Of(decimal)");
  what.kinds[static_cast<std::size_t>(BusyKind::program)] = 0;
  what.kinds[static_cast<std::size_t>(BusyKind::framework)] = 92;
  what.functions[0].self = 0;
  EXPECT_EQ(busy_headline(what),
            "BUSY: 1.9 processors, 92 % in code of .NET's libraries, called by Shop.Cart.Add(int)");
  what.kinds[static_cast<std::size_t>(BusyKind::framework)] = 45;
  what.functions[0].total = 55;
  EXPECT_EQ(busy_headline(what), "BUSY: 1.9 processors, 45 % in code of .NET's libraries") << "other threads, perhaps";
}

TEST(WhyBusy, WhatHardlyRunsIsNotBusy) {
  Busyness idle = busy();
  idle.cpu_ns = 3'000'000;
  const std::string text = text_of(idle);
  EXPECT_TRUE(text.starts_with("Not busy: 0.00 processors\n")) << text;
  EXPECT_EQ(text.find("Shop.Cart"), std::string::npos) << text;
}

TEST(WhyBusy, Json) {
  const Busyness what = busy();
  const ProcessDump dump;
  const Unmoved unmoved{std::chrono::milliseconds(10'000), {7, 9}, 3, {true, false}};
  const auto json = nlohmann::json::parse(
      collect([&](Writer& out) { write_why_json(out, dump, {}, {.busy = &what, .unmoved = &unmoved}); }));
  EXPECT_EQ(json["busy"]["is_busy"], true);
  EXPECT_EQ(json["busy"]["cpu_ms"], 1900);
  EXPECT_EQ(json["busy"]["kinds"]["program"], 92);
  EXPECT_EQ(json["busy"]["kinds"]["kernel"], 0);
  EXPECT_EQ(json["busy"]["functions"][0]["threads"][0]["tid"], 7);
  EXPECT_EQ(json["unmoved"]["threads"], nlohmann::json::array({7, 9}));
  EXPECT_EQ(json["unmoved"]["verdicts"], nlohmann::json::array({true, false}));
  const auto plain = nlohmann::json::parse(collect([&](Writer& out) { write_why_json(out, dump, {}); }));
  EXPECT_TRUE(plain["busy"].is_null());
  EXPECT_TRUE(plain["unmoved"].is_null());
}

TEST(WhyBusy, WhatHasNotMoved) {
  const ProcessDump dump;
  const Unmoved unmoved{std::chrono::milliseconds(10'000), {7, 9}, 3, {true}};
  const std::string text = collect([&](Writer& out) {
    Painter painter(out, false);
    write_unmoved_text(painter, dump, unmoved);
  });
  EXPECT_EQ(text,
            "Since the answer before, 10.0 s ago: 1 of 1 verdict still holds; 2 of 5 threads that wait have not moved: "
            "7, 9\n");
}

TEST(Why, ASuspensionThatIsNoVerdictIsTold) {
  ProcessDump dump;
  dump.threads.resize(2);
  dump.threads[0].tid = 7;
  dump.threads[1].tid = 8;
  dump.threads[1].kernel_state = 'R';
  dump.runtimes.emplace_back().suspension = Suspension{7, {8}};
  const auto text = [&] { return collect([&](Writer& out) { write_why_text(out, dump, {}, {}); }); };
  EXPECT_NE(
      text().find("GC: thread 7 stops the runtime's threads (for a garbage collection, mostly), and waits for these "
                  "to let it begin:\n  thread 8 runs\n"),
      std::string::npos)
      << text();
  dump.runtimes[0].suspension->waits_for.clear();
  EXPECT_NE(text().find("GC: thread 7 has stopped the runtime's threads"), std::string::npos) << text();
}

}  // namespace
}  // namespace mixstack::report
