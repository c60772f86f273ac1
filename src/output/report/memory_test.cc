#include "output/report/memory.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace mixstack::report {
namespace {

MemoryAccount account() {
  MemoryAccount a;
  a.lines = {{MemoryKind::gc_objects, "2", 30'000'000, 40'000'000}, {MemoryKind::unknown, "", 2'500'000, 2'600'000}};
  a.resident = 32'500'000;
  a.resident_by_kernel = 32'500'000;
  a.limit = 512'000'000;
  a.used_of_limit = 64'000'000;
  a.allocator = "jemalloc";
  a.unknown = {{{0x1000, 0x2000}, "rw-p", "a\x1b", 2'500'000}};
  return a;
}

HeapTypes heap() {
  HeapTypes h;
  TypeCount one;
  one.method_table = 0x7f00;
  one.type = "Shop.Order\x1b";
  one.count = {1, 0, 3};
  one.bytes = {32, 0, 96};
  TypeCount gap;
  gap.method_table = 0x7f08;
  gap.is_free = true;
  gap.count = {0, 0, 1};
  gap.bytes = {0, 0, 24};
  h.types = {one, gap};
  h.objects = 4;
  h.bytes = 128;
  h.free_bytes = 24;
  h.is_exact = true;
  h.pause = std::chrono::microseconds(3600);
  h.stops = 1;
  return h;
}

const std::string kName = "orders", kNone;

std::string text_of(const MemoryAccount* a, std::span<const HeapTypes> heaps) {
  return collect([&](Writer& out) { write_memory_text(out, {4711, kName, kNone, a, heaps}, {}); });
}

TEST(MemoryReport, LinesAndTheirSum) {
  const MemoryAccount a = account();
  const std::string text = text_of(&a, {});
  EXPECT_TRUE(text.starts_with("process 4711 (orders): 32.5 MB resident")) << text;
  EXPECT_NE(text.find("      30.0 MB  92 %  managed objects of generation 2"), std::string::npos) << text;
  EXPECT_NE(text.find("      32.5 MB 100 %  all of it"), std::string::npos) << text;
  EXPECT_NE(text.find("jemalloc"), std::string::npos);
  EXPECT_NE(text.find("a\\x1b"), std::string::npos);
  EXPECT_EQ(text.find("pages came or went"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(MemoryReport, TypesOrWhyThereAreNone) {
  HeapTypes h = heap();
  std::string text = text_of(nullptr, {&h, 1});
  EXPECT_NE(text.find("Shop.Order\\x1b"), std::string::npos) << text;
  EXPECT_NE(text.find("0 25 %, 2 75 %"), std::string::npos) << text;
  EXPECT_NE(text.find("stopped for 3.6 ms"), std::string::npos) << text;
  EXPECT_NE(text.find("(gaps between objects)"), std::string::npos) << text;
  h = {};
  h.why_not = "it is so";
  text = text_of(nullptr, {&h, 1});
  EXPECT_NE(text.find("not counted: it is so"), std::string::npos) << text;
}

TEST(MemoryReport, Json) {
  const MemoryAccount a = account();
  const HeapTypes h = heap();
  const std::string text = collect([&](Writer& out) { write_memory_json(out, {4711, kName, kNone, &a, {&h, 1}}); });
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["account"]["resident"], 32'500'000);
  EXPECT_EQ(json["account"]["lines"][0]["kind"], "gc_objects");
  EXPECT_EQ(json["account"]["lines"][1]["detail"], nullptr);
  EXPECT_EQ(json["heaps"][0]["types"][0]["objects_of"], (nlohmann::json{{"0", 1}, {"2", 3}}));
  EXPECT_EQ(json["heaps"][0]["types"][1]["is_free"], true);
  EXPECT_EQ(json["heaps"][0]["pause_us"], 3600);
  EXPECT_EQ(json["core"], nullptr);
}

TEST(MemoryReport, EveryKindHasWords) {
  std::set<std::string> names, labels;
  const auto kinds = static_cast<unsigned>(MemoryKind::count);
  for (unsigned k = 0; k < kinds; k++) {
    names.insert(to_string(static_cast<MemoryKind>(k)));
    labels.insert(label_words({static_cast<MemoryKind>(k), "2", 0, 0}));
  }
  EXPECT_EQ(names.size(), kinds);
  EXPECT_EQ(labels.size(), kinds);
}

}  // namespace
}  // namespace mixstack::report
