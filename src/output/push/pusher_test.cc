#include "output/push/pusher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>

namespace mixstack::push {
namespace {

namespace fs = std::filesystem;
using fetch_link::FetchEnd;
using fetch_link::FetchOutcome;

const PushTarget kTarget = *parse_push_target("http://h:4040");
constexpr std::chrono::milliseconds kLong = std::chrono::seconds(60);  // never waited for: all is sent before

/// A server that answers by number of request, and remembers bodies.
class Server {
 public:
  /// The last of them for all that follow.
  explicit Server(std::vector<FetchEnd> given, std::string said = {})
      : answers_(std::move(given)), words_(std::move(said)) {}

  PusherOptions options(const std::string& spool) {
    PusherOptions options{.target = kTarget, .headers = {"X: y"}, .spool = spool};
    options.make_send = [this]() -> Send {
      return [this](const std::string& url, const fetch_link::FetchBody& body, const fetch_link::FetchLimits&,
                    std::string& answer) -> tl::expected<FetchEnd, Diagnosis> {
        const std::lock_guard lock(mutex_);
        urls.push_back(url);
        headers = body.headers;
        bodies.emplace_back(body.bytes);
        answer = words_;
        return answers_[std::min(bodies.size(), answers_.size()) - 1];
      };
    };
    return options;
  }
  // After `finish`.
  std::vector<std::string> urls{}, bodies{}, headers{};

 private:
  std::vector<FetchEnd> answers_;
  std::string words_;
  std::mutex mutex_;
};

const FetchEnd kDone{FetchOutcome::done, 0, 0};
FetchEnd status(std::uint64_t code) { return {FetchOutcome::refused, 0, code}; }

class PusherTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/mixstack-pusher-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    root_ = name;
    spool_ = root_ / "push";
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_;
  std::string spool_;
};

TEST_F(PusherTest, SendsWhatItIsGivenInOrder) {
  Server server({kDone});
  Pusher pusher(server.options(spool_));
  for (const char* body : {"1", "2", "3"}) pusher.add({"q=1", body});
  const PushAccount account = pusher.finish(kLong);
  EXPECT_EQ(server.bodies, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(server.urls.front(), "http://h:4040/ingest?q=1");
  EXPECT_EQ(server.headers, (std::vector<std::string>{"Content-Type: application/octet-stream", "X: y"}));
  EXPECT_EQ(account.sent, 3u);
  EXPECT_EQ(account.dropped() + account.spooled + account.sent_from_spool, 0u);
  EXPECT_TRUE(pusher.take_news().empty());
  EXPECT_FALSE(fs::exists(spool_));
}

TEST_F(PusherTest, AFailureIsTriedAgainOutOfTheSpool) {
  Server server({status(503), kDone});
  Pusher pusher(server.options(spool_));
  pusher.add({"", "1"});
  const PushAccount account = pusher.finish(kLong);
  EXPECT_EQ(server.bodies, (std::vector<std::string>{"1", "1"}));
  EXPECT_EQ(account.sent, 1u);
  EXPECT_EQ(account.sent_from_spool, 1u);
  EXPECT_EQ(account.spooled, 0u);
  const auto news = pusher.take_news();
  ASSERT_EQ(news.size(), 2u);
  EXPECT_NE(news[0].text.find("503"), std::string::npos);
  EXPECT_EQ(news[1].text, "it takes profiles again");
}

TEST_F(PusherTest, WhatCannotBeSentIsThereForTheNextRun) {
  {
    Server server({{FetchOutcome::no_connection, 0, 111}});
    Pusher pusher(server.options(spool_));
    pusher.add({"", "1"});
    pusher.add({"", "2"});
    const PushAccount account = pusher.finish(std::chrono::milliseconds(0));
    EXPECT_EQ(account.sent, 0u);
    EXPECT_EQ(account.spooled, 2u);
    EXPECT_EQ(account.dropped(), 0u);
  }
  Server server({kDone});
  Pusher pusher(server.options(spool_));
  const PushAccount account = pusher.finish(kLong);
  EXPECT_EQ(server.bodies, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(account.sent_from_spool, 2u);
  EXPECT_EQ(account.spooled, 0u);
}

TEST_F(PusherTest, WhatIsRefusedIsSaidOnceAndDropped) {
  Server server({status(400)}, "bad name\nmore");
  Pusher pusher(server.options(spool_));
  pusher.add({"", "1"});
  pusher.add({"", "2"});
  const PushAccount account = pusher.finish(kLong);
  EXPECT_EQ(account.refused, 2u);
  EXPECT_EQ(account.sent + account.spooled, 0u);
  const auto news = pusher.take_news();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].text, "it answered with HTTP status 400: bad name; such profiles are dropped");
}

TEST_F(PusherTest, MemoryIsBoundedWithoutASpool) {
  Server server({status(500)});
  PusherOptions options = server.options("");
  options.most_held = 1000;
  Pusher pusher(std::move(options));
  for (int i = 0; i < 20; i++) pusher.add({"", std::string(100, 'x')});
  const PushAccount account = pusher.finish(std::chrono::milliseconds(0));
  EXPECT_EQ(account.crowded_out, 20u) << "those that were held are lost, too, and said to be";
}

TEST_F(PusherTest, AFetcherThatIsGoneIsAFailureLikeOthers) {
  PusherOptions options{.target = kTarget, .headers = {}, .spool = spool_};
  options.make_send = [] {
    return [](const std::string&, const fetch_link::FetchBody&, const fetch_link::FetchLimits&, std::string&) {
      return tl::expected<FetchEnd, Diagnosis>(
          tl::unexpected(Diagnosis{{ErrorCode::not_found, 0, 0}, "mixstack-fetch", "was there a moment ago"}));
    };
  };
  Pusher pusher(std::move(options));
  pusher.add({"", "1"});
  std::vector<PushNews> news;
  for (int i = 0; i < 6000 && news.empty(); i++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    news = pusher.take_news();
  }
  EXPECT_EQ(pusher.finish(std::chrono::milliseconds(0)).spooled, 1u);
  ASSERT_FALSE(news.empty());
  EXPECT_NE(news[0].text.find("mixstack-fetch: was there a moment ago"), std::string::npos);
}

TEST_F(PusherTest, ARequestWithoutAnAnswerIsGivenUpAtTheEndAndSpooled) {
  PusherOptions options{.target = kTarget, .headers = {}, .spool = spool_};
  std::atomic<bool> was_asked = false;
  options.make_send = [&was_asked] {
    return [&was_asked](const std::string&, const fetch_link::FetchBody&, const fetch_link::FetchLimits& limits,
                        std::string&) -> tl::expected<FetchEnd, Diagnosis> {
      was_asked = true;
      while (limits.is_wanted()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return FetchEnd{FetchOutcome::given_up, 0, 0};
    };
  };
  Pusher pusher(std::move(options));
  pusher.add({"", "1"});
  while (!was_asked) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  pusher.add({"", "2"});
  const PushAccount account = pusher.finish(std::chrono::milliseconds(10));
  EXPECT_EQ(account.spooled, 2u);
  EXPECT_EQ(account.sent + account.dropped(), 0u);
  const auto news = pusher.take_news();
  ASSERT_EQ(news.size(), 1u);
  EXPECT_EQ(news[0].text.find("it did not answer before the end; profiles are kept in "), 0u) << news[0].text;
}

}  // namespace
}  // namespace mixstack::push
