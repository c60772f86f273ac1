#include "output/push/push_target.h"

#include <gtest/gtest.h>

namespace mixstack::push {
namespace {

std::string url(std::string_view text) {
  const auto target = parse_push_target(text);
  return target ? std::string(word_of(target->protocol)) + " " + target->url : "(none)";
}

TEST(PushTarget, SchemesSayTheProtocol) {
  EXPECT_EQ(url("http://localhost:4040"), "pyroscope http://localhost:4040/ingest");
  EXPECT_EQ(url("https://profiles.example/"), "pyroscope https://profiles.example/ingest");
  EXPECT_EQ(url("pyroscope+http://h:1"), "pyroscope http://h:1/ingest");
  EXPECT_EQ(url("pyroscope+https://h"), "pyroscope https://h/ingest");
  EXPECT_EQ(url("otlp+http://localhost:4318"), "otlp http://localhost:4318/v1development/profiles");
  EXPECT_EQ(url("otlp+https://h/"), "otlp https://h/v1development/profiles");
}

TEST(PushTarget, APathIsAPrefixOrTheWholeOfIt) {
  EXPECT_EQ(url("http://h/pyroscope/"), "pyroscope http://h/pyroscope/ingest");
  EXPECT_EQ(url("http://h/a/ingest"), "pyroscope http://h/a/ingest");
  EXPECT_EQ(url("otlp+http://h/otlp"), "otlp http://h/otlp/v1development/profiles");
  EXPECT_EQ(url("otlp+http://h/api/me/v1/profiles"), "otlp http://h/api/me/v1/profiles");
}

TEST(PushTarget, Hosts) {
  EXPECT_EQ(url("http://[::1]:4040"), "pyroscope http://[::1]:4040/ingest");
  EXPECT_EQ(url("http://10.0.0.1"), "pyroscope http://10.0.0.1/ingest");
  for (const char* wrong : {"http://", "http://:80", "http://h:", "http://h:x", "http://h:123456", "http://h:65536",
                            "http://[::1", "http://[]", "http://[::1]x4040", "http://a b", "http://h\n",
                            "http://h/\r\nX: y", "http://h\x01", "http://h/\""})
    EXPECT_EQ(url(wrong), "(none)") << wrong;
}

TEST(PushTarget, WhatIsNone) {
  for (const char* wrong : {"", "localhost:4040", "ftp://h", "otlp+ftp://h", "file:///etc/passwd", "otlp+otlp+http://h",
                            "http://h?name=x", "http://h/#x", "http://me:secret@h", "http://me@h/x"})
    EXPECT_EQ(url(wrong), "(none)") << wrong;
  EXPECT_EQ(url("http://" + std::string(2000, 'h')), "(none)");
  EXPECT_NE(parse_push_target("http://me:secret@h").error().find("--push-header-file"), std::string::npos);
  EXPECT_EQ(parse_push_target("http://h\x1b[2J").error().find('\x1b'), std::string::npos);
}

TEST(PushTarget, WhatGoesOverANetworkInTheOpen) {
  for (const char* safe : {"https://far", "http://localhost:1", "http://127.0.0.1", "http://[::1]:80"})
    EXPECT_FALSE(is_open_to_others(*parse_push_target(safe))) << safe;
  for (const char* open : {"http://far:80", "otlp+http://10.0.0.1", "http://localhost.example"})
    EXPECT_TRUE(is_open_to_others(*parse_push_target(open))) << open;
}

TEST(PushLabel, NamesAndValues) {
  EXPECT_EQ(*parse_push_label("env=prod"), (PushLabel{"env", "prod"}));
  EXPECT_EQ(*parse_push_label("service.version=1=2 b"), (PushLabel{"service.version", "1=2 b"}));
  for (const char* wrong :
       {"", "env", "=prod", "env=", "a b=c", "a-b=c", "__name__=x", "a=b,c", "a=b}", "a={b", "a=b\nc"})
    EXPECT_FALSE(parse_push_label(wrong)) << wrong;
  EXPECT_FALSE(parse_push_label(std::string(65, 'a') + "=b"));
  EXPECT_FALSE(parse_push_label("a=" + std::string(257, 'b')));
}

TEST(PushName, OfACommand) {
  EXPECT_TRUE(is_push_name("shop.checkout-2/web"));
  for (const char* wrong : {"", "a b", "a{b=c}", "a=b", "\xc3\xa4"}) EXPECT_FALSE(is_push_name(wrong)) << wrong;
  EXPECT_EQ(push_name_of("dotnet"), "dotnet");
  EXPECT_EQ(push_name_of(".NET TP Worker"), ".NET_TP_Worker");
  EXPECT_EQ(push_name_of(""), "process");
  EXPECT_TRUE(is_push_name(push_name_of("\xff{}\n=&?" + std::string(300, 'x'))));
}

TEST(PushHeaders, LinesOfAFile) {
  const auto headers = parse_push_headers("# of the team\n\nX-Scope-OrgID: team \r\nAuthorization: Basic abc==\n");
  ASSERT_TRUE(headers);
  EXPECT_EQ(*headers, (std::vector<std::string>{"X-Scope-OrgID: team", "Authorization: Basic abc=="}));
  EXPECT_TRUE(parse_push_headers("")->empty());
}

TEST(PushHeaders, WhatIsNoneIsSaidWithoutShowingIt) {
  for (const char* wrong : {"secret", ": secret", "a b: secret", "X: secret\x01", "X: secret\rY: z", "X:",
                            "Content-Type: secret", "host: secret", "Transfer-Encoding: secret", "Content-Length: 1"}) {
    const auto headers = parse_push_headers("A: b\n" + std::string(wrong));
    ASSERT_FALSE(headers) << wrong;
    EXPECT_EQ(headers.error().find("line 2"), 0u) << headers.error();
    EXPECT_EQ(headers.error().find("secret"), std::string::npos) << headers.error();
  }
  std::string many;
  for (int i = 0; i < 40; i++) many += "X: y\n";
  EXPECT_FALSE(parse_push_headers(many));
  EXPECT_FALSE(parse_push_headers("X: " + std::string(5000, 'y')));
}

}  // namespace
}  // namespace mixstack::push
