#include "output/report/native_growth.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

NativeGrowth growth() {
  NativeGrowth g;
  g.pid = 4711;
  g.name = "orders\x1b";
  g.time = std::chrono::seconds(10);
  g.before = 100'000'000;
  g.after = 150'000'000;
  g.came = 52'000'000;
  g.went = 2'000'000;
  g.managed = 1'000'000;
  g.labels = {{.label = {MemoryKind::malloc_large, ""}, .after = 50'000'000, .came = 50'000'000},
              {.label = {MemoryKind::gc_objects, "2"}, .before = 100'000'000, .after = 100'000'000}};
  NativeSite leak{.tie = SiteTie::mapped, .place = "Shop.Load()\x1b", .via = "Marshal.AllocHGlobal"};
  leak.toucher = "Shop.Fill()";
  leak.label.kind = MemoryKind::malloc_large;
  leak.bytes = 50'000'000;
  leak.halves = {25'000'000, 25'000'000};
  leak.mapped_now = leak.mapped_ever = 60'000'000;
  leak.calls = 10;
  NativeSite cycle{.tie = SiteTie::mapped, .place = "Shop.Cycle()"};
  cycle.bytes = 1'000'000;
  cycle.halves = {0, 1'000'000};
  cycle.mapped_now = 1'000'000;
  cycle.mapped_ever = 900'000'000;
  cycle.calls = 900;
  g.sites = {leak, cycle};
  g.has_calls = true;
  g.samples = 12'000;
  return g;
}

std::string text_of(const NativeGrowth& g) {
  return collect([&](Writer& out) { write_native_text(out, g, {}); });
}

TEST(NativeGrowthReport, ALeakIsToldApartFromWhatComesAndGoes) {
  const std::string text = text_of(growth());
  EXPECT_TRUE(text.starts_with("orders\\x1b (pid 4711): 150.0 MB resident, +50.0 MB more than 10.0 s before")) << text;
  const std::size_t leak = text.find("Shop.Load()\\x1b by Marshal.AllocHGlobal"), cycle = text.find("Shop.Cycle()"),
                    gone = text.find("900.0 MB in 900 calls");
  EXPECT_LT(text.find("grew all the time"), leak) << text;
  EXPECT_LT(leak, text.find("came in one half of the time")) << text;
  EXPECT_LT(text.find("came in one half of the time"), cycle) << text;
  EXPECT_NE(gone, std::string::npos) << text;
  EXPECT_NE(text.find("first used by Shop.Fill()"), std::string::npos) << text;
  EXPECT_NE(text.find("60.0 MB of address space"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(NativeGrowthReport, SaysWhatIsNotSeen) {
  NativeGrowth g = growth();
  g.has_calls = false;
  g.why_no_calls = "for root";
  g.period = 7;
  g.lost = 3;
  g.managed = 40'000'000;
  const std::string text = text_of(g);
  EXPECT_NE(text.find("only its first uses: for root"), std::string::npos) << text;
  EXPECT_NE(text.find("a first use in 7"), std::string::npos) << text;
  EXPECT_NE(text.find("3 were lost"), std::string::npos) << text;
  EXPECT_NE(text.find("--types --after 60s"), std::string::npos) << text;
}

TEST(NativeGrowthReport, Json) {
  const auto json = nlohmann::json::parse(collect([](Writer& out) { write_native_json(out, growth()); }));
  EXPECT_EQ(json["format"], "mixstack-native");
  EXPECT_EQ(json["sites"][0]["tie"], "mapped");
  EXPECT_EQ(json["sites"][0]["is_steady"], true);
  EXPECT_EQ(json["sites"][1]["is_steady"], false);
  EXPECT_EQ(json["sites"][1]["via"], nullptr);
  EXPECT_EQ(json["sites"][0]["kind"], "malloc_large");
  EXPECT_EQ(json["labels"][1]["detail"], "2");
  EXPECT_EQ(json["why_no_calls"], nullptr);
}

}  // namespace
}  // namespace mixstack::report
