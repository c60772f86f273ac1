#include "output/report/request_words.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

Request request(RequestKind kind, std::string method, std::string what = {}, std::uint32_t thread = 0) {
  Request r;
  r.kind = kind;
  r.method = std::move(method);
  r.object = 0x7f12;
  r.thread = thread;
  r.what = std::move(what);
  return r;
}

TEST(RequestWords, AreCountedByKindAndMethod) {
  PendingWork pending;
  EXPECT_EQ(requests_words(pending), "");
  for (const char* method : {"POST", "GET", "GET"}) pending.requests.push_back(request(RequestKind::incoming, method));
  EXPECT_EQ(requests_words(pending), "3 requests in flight: 2 GET, 1 POST");
  pending.requests.push_back(request(RequestKind::outgoing, "PUT"));
  pending.requests.push_back(request(RequestKind::database,
                                     "Shop.\x1b"
                                     "Command"));
  pending.has_more_requests = true;
  EXPECT_EQ(requests_words(pending),
            "3 requests in flight: 2 GET, 1 POST; 1 call by HttpClient: 1 PUT; 1 database command: 1 "
            "Shop.\\x1b"
            "Command; and more");
}

TEST(RequestWords, OneOfThem) {
  ProcessDump dump;
  PendingWork pending;
  dump.threads.emplace_back().tid = 7;
  dump.threads.back().comm = "worker";
  Request on_thread = request(RequestKind::incoming, "GET", "/a\nb", 7);
  on_thread.age = std::chrono::milliseconds(3200);
  EXPECT_EQ(request_words(dump, pending, on_thread), "GET /a\\nb on thread 7 \"worker\", for 3.2 s");
  AsyncChain chain;
  chain.steps = {{"Shop.Api.Get(int)", 0x10, 0}};
  chain.end = AsyncEnd::delay;
  pending.chains = {chain};
  Request in_chain = request(RequestKind::database, "Shop.Command", "DELETE");
  in_chain.chain = 1;
  EXPECT_EQ(request_words(dump, pending, in_chain), "Shop.Command: DELETE in Api.Get awaits Task.Delay");
  in_chain.thread = pending.chains.front().waiter = 7;
  EXPECT_EQ(request_words(dump, pending, in_chain),
            "Shop.Command: DELETE in Api.Get awaits Task.Delay, for which thread 7 \"worker\" waits");
  in_chain.thread = pending.chains.front().waiter = 0;
  pending.chains.front().steps = {
      {"Shop.Api.A()", 1, 0}, {"Shop.Api.B()", 2, 0}, {"Shop.Api.C()", 3, 0}, {"Shop.Api.D()", 4, 0}};
  EXPECT_EQ(request_words(dump, pending, in_chain),
            "Shop.Command: DELETE in Api.A > ... > Api.C > Api.D awaits Task.Delay");
  in_chain.chain = 2;
  EXPECT_EQ(request_words(dump, pending, in_chain), "Shop.Command: DELETE") << "there is no such chain";
}

TEST(RequestWords, AsJson) {
  std::string text;
  Writer writer([&text](std::string_view piece) { text += piece; });
  Request r = request(RequestKind::outgoing, "GET", "http://x/", 7);
  r.chain = 3;
  write_request_json(writer, r);
  writer.flush();
  const auto parsed = nlohmann::json::parse(text);
  EXPECT_EQ(parsed["kind"], "outgoing");
  EXPECT_EQ(parsed["chain"], 2) << "an index";
  EXPECT_EQ(parsed["thread"], 7);
  EXPECT_EQ(parsed["what"], "http://x/");
  EXPECT_TRUE(parsed["age_ms"].is_null());
}

}  // namespace
}  // namespace mixstack::report
