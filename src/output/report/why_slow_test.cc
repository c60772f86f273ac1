#include "output/report/why_slow.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "output/report/why.h"

namespace mixstack::report {
namespace {

SlowCause collections() {
  SlowCause cause;
  cause.kind = SlowKind::collections;
  cause.is_certain = true;
  cause.share = 0.7;
  cause.what = "70 % of the time, 36/s";
  cause.place = "Shop.Quote\x1b(int) in Quotes.cs:12";
  cause.place_of = "allocated";
  cause.facts = {{"per_second", 36}};
  cause.next = "mixstack record -p 1";
  cause.change = "allocate less";
  return cause;
}

Health healthy() {
  Health health;
  health.time = std::chrono::seconds(1);
  health.processors = 0.2;
  health.collections = 1;
  health.pause_ms = 0.6;
  health.exceptions = 1;
  health.queued = 0;
  return health;
}

std::string text_of(const ProcessDump& dump, const WhyExtras& extras) {
  return collect([&](Writer& out) { write_why_text(out, dump, {}, {}, extras); });
}

TEST(WhySlow, TheFirstLineIsTheDearestCause) {
  ProcessDump dump;
  dump.runtimes.emplace_back();
  const std::vector<SlowCause> causes{collections()};
  const std::string text = text_of(dump, {.causes = causes});
  EXPECT_TRUE(
      text.starts_with("GARBAGE COLLECTIONS: 70 % of the time, 36/s; allocated at Shop.Quote\\x1b(int) in "
                       "Quotes.cs:12\n  usual change: allocate less\n  next: mixstack record -p 1\n"))
      << text;
}

TEST(WhySlow, WhatIsLikelySaysSo) {
  SlowCause cause = collections();
  cause.title = "FORCED COLLECTIONS";
  cause.is_certain = false;
  cause.place.clear();
  EXPECT_EQ(cause_words(cause), "LIKELY FORCED COLLECTIONS: 70 % of the time, 36/s");
}

TEST(WhySlow, NothingIsWrongInNumbers) {
  ProcessDump dump;
  dump.runtimes.emplace_back();
  Health health = healthy();
  EXPECT_TRUE(
      text_of(dump, {.health = &health, .is_whole = true})
          .starts_with("Nothing is wrong: 0.2 processors, 1.0 collection/s (600 us each), no lock is waited for, no "
                       "queue, 1 exception/s.\n"));
  EXPECT_TRUE(text_of(dump, {.health = &health, .is_whole = false}).starts_with("Nothing is stuck as far as"));
  health.all_methods = 16'500;
  health.all_compiling = std::chrono::milliseconds(5400);
  health.lock_waiters = 2;
  health.longest_lock_wait = std::chrono::milliseconds(200);
  health.semaphore_waiters = 1;  // may be a thread that waits for work
  health.all_semaphore_waiters = 1;
  EXPECT_EQ(health_words(health).find("semaphore"), std::string::npos);
  health.all_semaphore_waiters = 2;
  EXPECT_NE(health_words(health).find(", 2 threads wait for semaphores"), std::string::npos);
  health.semaphore_waiters = 5;
  const std::string words = health_words(health);
  EXPECT_TRUE(words.ends_with("; since it began it compiled 16,500 methods in 5.40 s")) << words;
  EXPECT_NE(words.find("2 threads wait for locks (200 ms so far), 5 threads wait for one semaphore"), std::string::npos)
      << words;
}

TEST(WhySlow, Json) {
  ProcessDump dump;
  const std::vector<SlowCause> causes{collections()};
  const Health health = healthy();
  const auto json = nlohmann::json::parse(
      collect([&](Writer& out) { write_why_json(out, dump, {}, {.causes = causes, .health = &health}); }));
  EXPECT_EQ(json["causes"][0]["kind"], "collections");
  EXPECT_EQ(json["causes"][0]["facts"]["per_second"], 36.0);
  EXPECT_EQ(json["causes"][0]["next"], "mixstack record -p 1");
  EXPECT_EQ(json["health"]["processors"], 0.2);
  EXPECT_TRUE(json["health"]["methods"].is_null());
}

}  // namespace
}  // namespace mixstack::report
