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

TEST(HoldersReport, AnAsyncMethodIsNamedByItself) {
  HeapHolders h = heap();
  Holder& boxes = h.tree[0].held[0].held[0];
  boxes.name = "System.Runtime.CompilerServices.AsyncTaskMethodBuilder<int>.AsyncStateMachineBox<Shop.<Load>d__1>";
  boxes.methods = {"Shop.Load(int) [async]"};
  EXPECT_NE(text_of(h).find("        39.0    1000 async methods Shop.Load(int)\n"), std::string::npos) << text_of(h);
  boxes.count = 1;
  EXPECT_NE(text_of(h).find("        39.0    async method Shop.Load(int)\n"), std::string::npos) << text_of(h);
  boxes.methods = {"Shop.Load(int)"};
  EXPECT_NE(text_of(h).find("AsyncStateMachineBox<Shop.<Load>d__1>: Shop.Load(int)\n"), std::string::npos);
}

TEST(HoldersReport, GapsWhereTheyAreMany) {
  HeapHolders h = heap();
  h.gap_bytes = 1'000'000;
  EXPECT_EQ(text_of(h).find("gaps"), std::string::npos);
  h.gap_bytes = 80'000'000;
  EXPECT_NE(text_of(h).find("; 80.0 MB more are gaps between objects\n"), std::string::npos) << text_of(h);
}

TEST(HoldersReport, WaysOrWhyThereAreNone) {
  HeapHolders h = heap();
  h.asked = "Shop.Order";
  h.was_found = true;
  HolderPath path;
  path.steps = {{RootKind::static_field, "Shop.Cache.s_all", "", 1, 0, "", {}, {}},
                {RootKind::none, "Shop.Order", "_first", 3, 0x7f10, "Shop.Program.Load", {}, {}}};
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

Holder local_line(const std::string& variable, const std::string& reg) {
  Holder list;
  list.name = "List<Order>";
  list.count = 1;
  list.retained = 10'000'000;
  list.place = StackPlace{12, "Shop.Worker.Run()", variable, reg, reg.empty() ? Address{0x7ff0} : Address{0}};
  Holder thread;
  thread.root = RootKind::local;
  thread.shape = HolderShape::root;
  thread.name = "thread 12 (worker)";
  thread.retained = 10'000'000;
  thread.held = {list};
  return thread;
}

TEST(HoldersReport, VariablesOfThreads) {
  HeapHolders h = heap();
  h.local_objects = 5;
  h.local_bytes = 3'000'000;
  h.tree = {local_line("cache", "rbx"), local_line("", "rbx"), local_line("", "")};
  const std::string text = text_of(h);
  EXPECT_NE(text.find("variables of thread 12 (worker), Shop.Worker.Run(), variable 'cache' = List<Order>\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Shop.Worker.Run(), register rbx = List<Order>\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Shop.Worker.Run(), slot 0x7ff0 = List<Order>\n"), std::string::npos) << text;
  EXPECT_NE(text.find("3.0 MB more by variables of threads"), std::string::npos) << text;
  EXPECT_NE(text.find("4.0 MB are garbage"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_holders_json(out, h); }));
  EXPECT_EQ(json["tree"][0]["held"][0]["place"]["variable"], "cache");
  EXPECT_EQ(json["tree"][0]["held"][0]["place"]["slot"], nullptr);
  EXPECT_EQ(json["tree"][0]["place"], nullptr);
  EXPECT_EQ(json["local_bytes"], 3'000'000);
}

TEST(HoldersReport, RootsOfWhatNoneHoldsAlone) {
  HeapHolders h = heap();
  Holder shared;
  shared.root = RootKind::several;
  shared.name = "Order[]";
  shared.count = 1;
  shared.retained = 30'000'000;
  h.tree = {shared};
  EXPECT_NE(text_of(h).find("Order[], held by more than one root\n"), std::string::npos);
  h.tree[0].roots = {{RootKind::static_field, "A.s_one"}, {RootKind::strong_handle, ""}};
  EXPECT_NE(text_of(h).find("Order[], held by static A.s_one and strong handles\n"), std::string::npos) << text_of(h);
  h.tree[0].are_roots_all = false;
  EXPECT_NE(text_of(h).find("strong handles and perhaps others\n"), std::string::npos) << text_of(h);
  h.tree[0].roots.resize(5, {RootKind::static_field, "B"});
  h.tree[0].more_roots = 7;
  EXPECT_NE(text_of(h).find("held by static A.s_one, strong handles, static B and 9 more at least\n"),
            std::string::npos)
      << text_of(h);
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_holders_json(out, h); }));
  EXPECT_EQ(json["tree"][0]["roots"][1]["kind"], "strong_handle");
  EXPECT_EQ(json["tree"][0]["more_roots"], 7);
  EXPECT_EQ(json["tree"][0]["are_roots_all"], false);
}

TEST(HoldersReport, RequestsOfAsyncMethods) {
  HeapHolders h = heap();
  h.tree[0].held[0].held[0].requests = {{RequestKind::incoming, "GET", "/a\x1b"}, {RequestKind::outgoing, "", ""}};
  EXPECT_NE(text_of(h).find(", serves GET /a\\x1b, sends a request\n"), std::string::npos) << text_of(h);
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_holders_json(out, h); }));
  EXPECT_EQ(json["tree"][0]["held"][0]["held"][0]["requests"][0]["kind"], "incoming");
}

TEST(HoldersReport, WhatWasReadTwiceSaysSo) {
  HeapHolders h = heap();
  h.certainty = HoldersCertainty::read_twice;
  h.is_exact = false;
  h.why_not = "90 MB would have to be read";
  h.chains = 3;
  h.chains_verified = 2;
  h.changed_words = 44;
  h.tree[0].held[0].is_verified = false;
  const std::string text = text_of(h);
  EXPECT_NE(text.find("read twice while it ran, 44 words"), std::string::npos) << text;
  EXPECT_NE(text.find("2 of 3 ways"), std::string::npos) << text;
  EXPECT_NE(text.find("List<Shop.Order> (not seen in the stop)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("all of one moment"), std::string::npos) << text;
  EXPECT_NE(text.find("garbage, or held by what has changed"), std::string::npos) << text;
  const auto json = nlohmann::json::parse(collect([&](Writer& out) { write_holders_json(out, h); }));
  EXPECT_EQ(json["certainty"], "read_twice");
  EXPECT_EQ(json["chains_verified"], 2);
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
