#include "agent/in_process/control_server.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "agent/protocol/message_socket.h"

namespace mixstack::agent {
namespace {

using agent_link::Bytes;
using agent_link::Kind;
using agent_link::Message;

class ControlServerTest : public testing::Test {
 protected:
  void SetUp() override {
    ControlServer::Hooks hooks;
    hooks.status = [] { return report("status"); };
    hooks.start = [this](std::string_view settings) {
      settings_ = settings;
      return agent_link::encode(agent_link::Refusal{agent_link::RefusalCode::already_sampling, "t", "already"});
    };
    hooks.stop = [] { return report("stop"); };
    hooks.record = [this](std::string_view, std::shared_ptr<Outbox> outbox) {
      outbox_ = outbox;
      // As a sampler's thread might, before the answer is on its way.
      outbox->put(agent_link::encode(agent_link::Thread{1, "first"}));
      return report("record");
    };
    hooks.end_record = [this](const Outbox*) {
      ended_++;
      return report("end");
    };
    auto server = ControlServer::create(own_, "test", std::move(hooks));
    ASSERT_TRUE(server);
    server_ = std::move(*server);
  }
  void TearDown() override { EXPECT_TRUE(server_ == nullptr || server_->finish(std::chrono::seconds(20))); }
  static Bytes report(const char* word) {
    agent_link::Report r;
    r.agent = word;
    return agent_link::encode(r);
  }
  base::ScopedFd link() {
    auto fd = agent_link::connect_to(server_->path(), late());
    EXPECT_TRUE(fd);
    return std::move(*fd);
  }
  static agent_link::Clock::time_point late() { return agent_link::Clock::now() + std::chrono::seconds(60); }
  static void send(const base::ScopedFd& fd, const Bytes& bytes) {
    EXPECT_TRUE(agent_link::send_all(fd.get(), bytes, late()));
  }
  static Message next(const base::ScopedFd& fd) {
    auto message = agent_link::receive(fd.get(), late());
    EXPECT_TRUE(message);
    return message ? std::move(*message) : Message{};
  }
  static std::string word(const Message& message) {
    const auto r = agent_link::decode_report(message.payload);
    return r ? r->agent : "no report";
  }

  UnsampledThreads own_;
  std::string settings_;
  std::shared_ptr<Outbox> outbox_;
  std::atomic<int> ended_{0};
  std::unique_ptr<ControlServer> server_;
};

TEST_F(ControlServerTest, QuestionsAreAnsweredInTheirOrder) {
  const auto fd = link();
  Bytes both = agent_link::message(Kind::status);
  const Bytes second = agent_link::message(Kind::start, "a=b\n");
  both.insert(both.end(), second.begin(), second.end());
  send(fd, both);
  EXPECT_EQ(word(next(fd)), "status");
  EXPECT_EQ(next(fd).header.kind, Kind::refused);
  EXPECT_EQ(settings_, "a=b\n");
  struct stat st {};
  ASSERT_EQ(::stat(server_->path().c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0600u);
}

TEST_F(ControlServerTest, AnotherVersionIsToldSo) {
  const auto fd = link();
  Bytes question = agent_link::message(Kind::status);
  question[4] = std::byte{77};
  send(fd, question);
  const Message answer = next(fd);
  ASSERT_EQ(answer.header.kind, Kind::refused);
  const auto refusal = agent_link::decode_refusal(answer.payload);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, agent_link::RefusalCode::other_version);
  EXPECT_EQ(refusal->agent, "test");
  EXPECT_EQ(agent_link::receive(fd.get(), late()).error().code, ErrorCode::not_found) << "and hung up on";
}

TEST_F(ControlServerTest, RubbishHoldsNobodyElseUp) {
  const auto silent = link(), half = link(), rubbish = link(), good = link();
  const Bytes question = agent_link::message(Kind::start, "settings");
  send(half, Bytes(question.begin(), question.begin() + 15));
  send(rubbish, Bytes(4000, std::byte{'x'}));
  EXPECT_EQ(next(rubbish).header.kind, Kind::refused);
  Bytes large = agent_link::message(Kind::start);
  large[9] = std::byte{0xff};
  const auto too_large = link();
  send(too_large, large);
  EXPECT_EQ(next(too_large).header.kind, Kind::refused);
  send(good, agent_link::message(Kind::report));
  EXPECT_EQ(next(good).header.kind, Kind::refused) << "no question";
  const auto last = link();
  send(last, agent_link::message(Kind::status));
  EXPECT_EQ(word(next(last)), "status");
}

TEST_F(ControlServerTest, TooManyAreHungUpOn) {
  std::vector<base::ScopedFd> links;
  for (int i = 0; i < 8; i++) {
    links.push_back(link());
    send(links.back(), agent_link::message(Kind::status));
    EXPECT_EQ(word(next(links.back())), "status");
  }
  const auto ninth = link();
  EXPECT_FALSE(agent_link::receive(ninth.get(), late()));
  links.clear();
}

TEST_F(ControlServerTest, ARecordingBeginsWithItsAnswerAndEndsWithAReport) {
  const auto fd = link();
  send(fd, agent_link::message(Kind::record, "x"));
  EXPECT_EQ(word(next(fd)), "record");
  EXPECT_EQ(next(fd).header.kind, Kind::thread);
  outbox_->put(agent_link::message(Kind::samples));
  EXPECT_EQ(next(fd).header.kind, Kind::samples) << "without a question";
  send(fd, agent_link::message(Kind::end));
  EXPECT_EQ(word(next(fd)), "end");
  EXPECT_EQ(ended_, 1);
}

TEST_F(ControlServerTest, AStopAndTheEndOfTheProcessEndRecordings) {
  const auto first = link(), second = link();
  send(first, agent_link::message(Kind::record, "x"));
  EXPECT_EQ(word(next(first)), "record");
  send(second, agent_link::message(Kind::stop));
  EXPECT_EQ(word(next(second)), "stop");
  EXPECT_EQ(next(first).header.kind, Kind::thread);
  EXPECT_EQ(word(next(first)), "end");
  const auto third = link();
  send(third, agent_link::message(Kind::record, "x"));
  EXPECT_EQ(word(next(third)), "record");
  const std::string path = server_->path();
  EXPECT_TRUE(server_->finish(std::chrono::seconds(20)));
  server_.reset();
  EXPECT_EQ(next(third).header.kind, Kind::thread);
  EXPECT_EQ(word(next(third)), "end");
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "its name is gone";
}

TEST_F(ControlServerTest, WhoGoesAwayWhileRecordingIsForgotten) {
  {
    const auto fd = link();
    send(fd, agent_link::message(Kind::record, "x"));
    EXPECT_EQ(word(next(fd)), "record");
  }
  while (ended_ == 0) ::usleep(1000);
  EXPECT_EQ(ended_, 1);
}

}  // namespace
}  // namespace mixstack::agent
