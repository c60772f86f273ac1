#include "output/serve/http_request.h"

#include <gtest/gtest.h>

namespace mixstack::serve {
namespace {

TEST(HttpRequest, WhatBrowsersSend) {
  const auto request =
      parse_request("GET /0f/data?after=12 HTTP/1.1\r\nHost: LocalHost:8080\r\nAccept: */*\r\nX-Empty:\r\n\r\n");
  ASSERT_TRUE(request);
  EXPECT_EQ(request->method, "GET");
  EXPECT_EQ(request->path, "/0f/data");
  EXPECT_EQ(request->query, "after=12");
  EXPECT_EQ(request->host, "localhost:8080");
  EXPECT_EQ(number_in(request->query, "after"), 12u);
}

TEST(HttpRequest, HeadsEndWithAnEmptyLine) {
  EXPECT_EQ(head_size("GET / HTTP/1.1\r\nHost: a\r\n"), 0u);
  EXPECT_EQ(head_size("GET / HTTP/1.1\r\n\r\nmore"), 18u);
}

TEST(HttpRequest, WhatIsNoRequest) {
  for (const char* const head :
       {"", "\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET  / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\n",
        "GET http://elsewhere/ HTTP/1.1\r\n\r\n", "GET /\x01 HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nno field\r\n\r\n",
        "GET / HTTP/1.1\r\n: x\r\n\r\n", "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "GET / HTTP/1.1\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\n",
        "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"})
    EXPECT_FALSE(parse_request(head)) << head;
}

TEST(HttpRequest, NumbersInQueries) {
  EXPECT_EQ(number_in("a=1&after=2&b=3", "after"), 2u);
  EXPECT_FALSE(number_in("afterwards=2", "after"));
  EXPECT_FALSE(number_in("after=-1", "after"));
  EXPECT_FALSE(number_in("after=1x", "after"));
  EXPECT_FALSE(number_in("after=99999999999999999999", "after"));
  EXPECT_FALSE(number_in("", "after"));
}

}  // namespace
}  // namespace mixstack::serve
