#include "output/report/memory_growth.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/memory.h"

namespace mixstack::report {
namespace {

MemoryGrowth sample_growth() {
  MemoryGrowth g;
  g.before.pid = g.after.pid = 4711;
  g.after.name = "orders";
  g.between = std::chrono::seconds(10);
  g.is_same_process = g.has_account = g.has_types = g.is_exact = true;
  g.resident_before = 100'000'000;
  g.resident_after = 108'000'000;
  g.labels = {{MemoryKind::gc_objects, "2", 50'000'000, 60'000'000},
              {MemoryKind::stack, "", 300'000, 310'000},
              {MemoryKind::unknown, "", 49'700'000, 47'690'000}};
  TypeGrowth order;
  order.type = "Shop.Order\x1b";
  order.objects_after = 1000;
  order.bytes_after = 32'000'000;
  order.kept = TypeGrowth::Kept{0, 900, 0, 28'800'000};
  TypeGrowth same;
  same.type = "Shop.Same";
  same.objects_before = same.objects_after = 3;
  g.types = {order, same};
  g.collections = {12, 3, 2};
  g.kept_seen = 2;
  g.forecast = LimitForecast{512'000'000, 448'000'000, 1e6, std::chrono::seconds(64), true};
  g.next = {{"mixstack why 4711", "how often it collects"}};
  return g;
}

std::string growth_text(const MemoryGrowth& g) {
  return collect([&](Writer& out) { write_growth_text(out, g); });
}

TEST(MemoryGrowthReport, Text) {
  const std::string text = growth_text(sample_growth());
  EXPECT_TRUE(
      text.starts_with("process 4711 (orders), 10.00 s later: 108.0 MB resident, 100.0 MB before, +800.0 kB a "
                       "second; 12 collections meanwhile, 2 of them full\n"))
      << text;
  EXPECT_NE(text.find("       +10.0        50.0        60.0   managed objects of generation 2"), std::string::npos)
      << text;
  EXPECT_NE(text.find("        -2.0        49.7        47.7   not known"), std::string::npos) << text;
  EXPECT_NE(text.find("        +8.0       100.0       108.0   all of it"), std::string::npos) << text;
  EXPECT_NE(text.find("1 line of little change"), std::string::npos) << text;
  EXPECT_NE(text.find("       +32.0        +1000        32.0         +0.0       +28.8   Shop.Order\\x1b"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("Shop.Same"), std::string::npos);
  EXPECT_NE(
      text.find("limit: 448 MB of 512 MB are used by the cgroup; at 1000.0 kB a second they are used up in 1 min; "
                "then the kernel kills all processes of it"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("next: mixstack why 4711"), std::string::npos);
}

TEST(MemoryGrowthReport, Json) {
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_growth_json(out, sample_growth()); }));
  EXPECT_EQ(json["format"], "mixstack-memory-growth");
  EXPECT_EQ(json["resident"]["grown"], 8'000'000);
  EXPECT_EQ(json["labels"][2]["resident"]["grown"], -2'010'000);
  EXPECT_EQ(json["labels"][0]["grows_by"], grows_by(MemoryKind::gc_objects));
  EXPECT_EQ(json["types"][0]["kept_objects"]["after"], 900);
  EXPECT_TRUE(json["types"][1]["kept_objects"].is_null());
  EXPECT_EQ(json["forecast"]["seconds_left"], 64);
  EXPECT_EQ(json["forecast"]["kills_all"], true);
  EXPECT_EQ(json["next"][0]["command"], "mixstack why 4711");
}

TEST(MemoryGrowthReport, AnotherProcessOrNoTime) {
  MemoryGrowth g = sample_growth();
  g.is_same_process = false;
  g.before.pid = 12;
  g.between.reset();
  g.forecast.reset();
  const std::string text = growth_text(g);
  EXPECT_TRUE(text.starts_with("process 4711 (orders), compared with process 12, another process: 108.0 MB")) << text;
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_growth_json(out, g); }));
  EXPECT_TRUE(json["between_ms"].is_null());
  EXPECT_TRUE(json["forecast"].is_null());
}

TEST(MemoryLabels, EachSaysWhatItGrowsBy) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(MemoryKind::count); i++) {
    const auto kind = static_cast<MemoryKind>(i);
    if (kind == MemoryKind::kernel) continue;
    EXPECT_FALSE(grows_by(kind).empty()) << to_string(kind);
    EXPECT_EQ(memory_kind_called(to_string(kind)), kind);
  }
  EXPECT_FALSE(memory_kind_called("of a later version"));
}

TEST(MemoryGrowthReport, Times) {
  EXPECT_EQ(time_words(1'764'342'000'000'000'000), "2025-11-28 15:00:00 UTC");
  EXPECT_EQ(time_words(0), "");
}

}  // namespace
}  // namespace mixstack::report
