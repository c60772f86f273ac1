#include "output/push/spool_entry.h"

#include <gtest/gtest.h>

namespace mixstack::push {
namespace {

const PushTarget kTarget = *parse_push_target("http://h:4040");
const PushRequest kRequest{"name=a%7B%7D&from=1", std::string("a\0b\nc", 5)};

TEST(SpoolEntryTest, ComesBackAsItWas) {
  const auto entry = decode_spool_entry(encode_spool_entry(kTarget, kRequest));
  ASSERT_TRUE(entry);
  EXPECT_EQ(*entry, (SpoolEntry{kTarget, kRequest}));
  const PushTarget otlp = *parse_push_target("otlp+https://h/x/profiles");
  const auto other = decode_spool_entry(encode_spool_entry(otlp, {"", ""}));
  ASSERT_TRUE(other);
  EXPECT_EQ(*other, (SpoolEntry{otlp, {"", ""}}));
}

TEST(SpoolEntryTest, EveryCutIsNone) {
  const std::string whole = encode_spool_entry(kTarget, kRequest);
  for (std::size_t size = 0; size < whole.size(); size++)
    EXPECT_FALSE(decode_spool_entry(std::string_view(whole).substr(0, size))) << size;
  EXPECT_FALSE(decode_spool_entry(whole + "x"));
}

TEST(SpoolEntryTest, WhatThisProgramDoesNotWrite) {
  const std::string whole = encode_spool_entry(kTarget, kRequest);
  const auto with = [&whole](const std::string& from, const std::string& to) {
    std::string copy = whole;
    return decode_spool_entry(copy.replace(copy.find(from), from.size(), to));
  };
  EXPECT_TRUE(with("h:4040", "other:1"));  // another server's: for the caller to see
  for (const char* url : {"http://h:4040", "http://u@h/ingest", "http://h/ingest?x=y", "file:///etc/passwd",
                          "http:///ingest", "http://h/ingest\r"})
    EXPECT_FALSE(with("http://h:4040/ingest", url)) << url;
  EXPECT_FALSE(with("pyroscope", "telnet"));
  EXPECT_FALSE(with("pyroscope", "otlp"));  // its path would be another one
  for (const char* query : {"a b", "a#b", "a\tb",
                            "a\xff"
                            "b",
                            "a\r"})
    EXPECT_FALSE(with("from=1", query)) << query;
  EXPECT_FALSE(with("body 5", "body 4"));
  EXPECT_FALSE(with("body 5", "body 99999999999999999999"));
  EXPECT_FALSE(with("body 5", "body -5"));
  EXPECT_FALSE(with("push 1", "push 2"));
  EXPECT_FALSE(with("from=1", std::string(9000, 'x')));
}

}  // namespace
}  // namespace mixstack::push
