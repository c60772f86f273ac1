#include "output/push/push_request.h"

#include <gtest/gtest.h>

#include "support/sample_recording.h"

namespace mixstack::push {
namespace {

const ProfileOptions kIdle{.idle = true};

PushRequest request(const char* url, const PushNames& names) {
  const auto made = make_push_request(*parse_push_target(url), names, testing::sample_recording(), kIdle, {});
  EXPECT_TRUE(made);
  return made.value_or(PushRequest{});
}

TEST(PushRequestTest, PyroscopesQuery) {
  const PushNames names{.name = "shop/web", .labels = {{"env", "a b&c"}}};
  EXPECT_EQ(request("http://h", names).query,
            "name=shop%2Fweb%7Benv%3Da%20b%26c%2Chostname%3Dhere%7D&from=1764000000&until=1764000002&format=pprof"
            "&sampleRate=1000&spyName=mixstack");
  const PushNames own{.name = "a", .labels = {{"hostname", "mine"}}};
  EXPECT_EQ(request("http://h", own).query.find("name=a%7Bhostname%3Dmine%7D&"), 0u);
}

TEST(PushRequestTest, BodiesAreCompressed) {
  for (const char* url : {"http://h", "otlp+http://h"}) {
    const PushRequest made = request(url, {.name = "a"});
    EXPECT_EQ(made.body.substr(0, 2), "\x1f\x8b");
  }
}

TEST(PushRequestTest, OtlpHasAllInItsBody) {
  const PushRequest made = request("otlp+http://h:4318", {.name = "a"});
  EXPECT_EQ(made.query, "");
  EXPECT_EQ(url_of(*parse_push_target("otlp+http://h:4318"), made), "http://h:4318/v1development/profiles");
  EXPECT_EQ(headers_of(PushProtocol::otlp).size(), 2u);
  EXPECT_EQ(
      url_of(*parse_push_target("http://h"), request("http://h", {.name = "a"})).find("http://h/ingest?name=a%7B"), 0u);
}

TEST(PushRequestTest, NothingIsSentOfNothing) {
  const ProfileOptions none{.include = {"no such function"}};
  EXPECT_FALSE(make_push_request(*parse_push_target("http://h"), {.name = "a"}, testing::sample_recording(), none, {}));
  EXPECT_FALSE(make_push_request(*parse_push_target("http://h"), {.name = "a"}, Recording(), kIdle, {}));
}

TEST(PushRequestTest, LabelsMustFitIntoAUrl) {
  PushNames names{.name = "a", .labels = {{"b", "c"}}};
  EXPECT_FALSE(is_too_long(*parse_push_target("http://h"), names));
  for (int i = 0; i < 16; i++) names.labels.push_back({"x" + std::to_string(i), std::string(250, '=')});
  EXPECT_TRUE(is_too_long(*parse_push_target("http://h"), names));
}

}  // namespace
}  // namespace mixstack::push
