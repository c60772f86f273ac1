#include "output/report/makers.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

MemoryMakers makers() {
  MemoryMakers m;
  m.pid = 4711;
  m.name = "orders\x1b";
  m.time = std::chrono::seconds(2);
  m.has_bytes = m.has_samples = true;
  m.threads = {{.tid = 12, .name = "work\x1b", .small = 150'000'000, .large = 50'000'000},
               {.tid = 13, .name = "", .small = 0}};
  m.samples = 400;
  m.sampled = 100;
  m.types = {{.name = "byte[]", .type_or_place = "Shop.Load()", .bytes = 75}};
  m.without_type = 25;
  m.places = {{.name = "Shop.Load()", .type_or_place = "byte[]", .bytes = 100}};
  m.source = "breakpoints";
  return m;
}

std::string text_of(const MemoryMakers& m) {
  return collect([&](Writer& out) { write_makers_text(out, m, {}); });
}

TEST(MakersReport, RatesAreSharesOfWhatTheRuntimeCounted) {
  const std::string text = text_of(makers());
  EXPECT_TRUE(text.starts_with("orders\\x1b (pid 4711): 100 MB/s of objects are made, 25.0 % of it large")) << text;
  EXPECT_NE(text.find("75 MB/s   75.0 %  byte[], by Shop.Load()"), std::string::npos) << text;
  EXPECT_NE(text.find("25 MB/s   25.0 %  (type not known)"), std::string::npos) << text;
  EXPECT_NE(text.find("next: mixstack record -m alloc -p 4711"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(MakersReport, SaysWhyThereAreNoTypes) {
  MemoryMakers m = makers();
  m.has_samples = false;
  m.why_no_samples = "no register is free";
  const std::string text = text_of(m);
  EXPECT_NE(text.find("types and places are not known: no register is free"), std::string::npos) << text;
  EXPECT_EQ(text.find("next:"), std::string::npos);
  m.has_bytes = false;
  EXPECT_NE(text_of(m).find("no runtime here tells"), std::string::npos);
}

TEST(MakersReport, Json) {
  const std::string text = collect([](Writer& out) { write_makers_json(out, makers()); });
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["format"], "mixstack-makers");
  EXPECT_EQ(json["small"], 150'000'000);
  EXPECT_EQ(json["threads"][0]["large"], 50'000'000);
  EXPECT_EQ(json["types"][0]["place"], "Shop.Load()");
  EXPECT_EQ(json["places"][0]["type"], "byte[]");
  EXPECT_EQ(json["threads"][1]["name"], nullptr);
  EXPECT_EQ(json["why_no_samples"], nullptr);
}

}  // namespace
}  // namespace mixstack::report
