#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "output/report/memory.h"

namespace mixstack::report {
namespace {

HeapHolders heap() {
  Holder orders;
  orders.name = "Shop.Order\x1b";
  orders.count = 1000;
  orders.retained = 39'000'000;
  Holder list;
  list.shape = HolderShape::collection;
  list.name = "System.Collections.Generic.List<Shop.Order>";
  list.count = 1;
  list.retained = 40'000'000;
  list.held = {orders};
  Holder root;
  root.root = RootKind::static_field;
  root.shape = HolderShape::root;
  root.name = "Shop.Cache.s_all";
  root.retained = 40'000'000;
  root.held = {list};
  Holder stacks;
  stacks.root = RootKind::stack;
  stacks.shape = HolderShape::root;
  stacks.retained = 2'000'000;
  HeapHolders h;
  h.tree = {root, stacks};
  h.rest = 1'000'000;
  h.all_bytes = 50'000'000;
  h.held_bytes = 41'000'000;
  h.stack_bytes = 2'000'000;
  h.held_objects = h.stack_objects = 1001;
  h.is_exact = true;
  h.pause = std::chrono::microseconds(4200);
  h.stops = 1;
  return h;
}

std::string text_of(const HeapHolders& h) {
  return collect([&](Writer& out) { write_holders_text(out, h); });
}

TEST(HoldersReport, ARootAndTheOnlyThingItHoldsAreOneLine) {
  const std::string text = text_of(heap());
  EXPECT_NE(text.find("        40.0  static Shop.Cache.s_all = System.Collections.Generic.List<Shop.Order>\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("        39.0    1000 Shop.Order\\x1b\n"), std::string::npos) << text;
  EXPECT_NE(text.find("         2.0  words of stacks, perhaps alive\n"), std::string::npos) << text;
  EXPECT_NE(text.find("7.0 MB are garbage"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(HoldersReport, WaysOrWhyThereAreNone) {
  HeapHolders h = heap();
  h.asked = "Shop.Order";
  h.was_found = true;
  HolderPath path;
  path.steps = {{RootKind::static_field, "Shop.Cache.s_all", "", 1, 0, ""},
                {RootKind::none, "Shop.Order", "_first", 3, 0x7f10, "Shop.Program.Load"}};
  path.count = 1000;
  path.retained = 39'000'000;
  h.paths = {path};
  h.unheld = 5;
  std::string text = text_of(h);
  EXPECT_NE(text.find("1000 objects"), std::string::npos) << text;
  EXPECT_NE(text.find("._first: 3 Shop.Order (Shop.Program.Load)  0x7f10\n"), std::string::npos) << text;
  EXPECT_NE(text.find("5 objects are held by nobody"), std::string::npos) << text;
  h.paths.clear();
  h.was_found = false;
  EXPECT_NE(text_of(h).find("nothing of that name or address"), std::string::npos);
  h = {};
  h.why_not = "it is so";
  EXPECT_EQ(text_of(h), "holders: not found: it is so\n");
}

TEST(HoldersReport, Json) {
  HeapHolders h = heap();
  h.tree[0].held[0].methods = {"a\"b"};
  h.roots = {{RootKind::finalizer, 3, 4}};
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_holders_json(out, h); }));
  EXPECT_EQ(json["tree"][0]["root"], "static_field");
  EXPECT_EQ(json["tree"][0]["held"][0]["methods"][0], "a\"b");
  EXPECT_EQ(json["tree"][0]["held"][0]["held"][0]["count"], 1000);
  EXPECT_EQ(json["roots"][0]["kind"], "finalizer");
  EXPECT_EQ(json["pause_us"], 4200);
  EXPECT_EQ(json["asked"], nullptr);
}

TEST(HoldersReport, EveryKindHasAName) {
  std::set<std::string> kinds, shapes;
  for (unsigned k = 0; k < static_cast<unsigned>(RootKind::count); k++)
    kinds.insert(to_string(static_cast<RootKind>(k)));
  for (unsigned k = 0; k < static_cast<unsigned>(HolderShape::count); k++)
    shapes.insert(to_string(static_cast<HolderShape>(k)));
  EXPECT_EQ(kinds.size(), static_cast<std::size_t>(RootKind::count));
  EXPECT_EQ(shapes.size(), static_cast<std::size_t>(HolderShape::count));
}

}  // namespace
}  // namespace mixstack::report
