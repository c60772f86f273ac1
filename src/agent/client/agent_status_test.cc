#include "agent/client/agent_status.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace mixstack::agent_client {
namespace {

agent_link::Report sampling() {
  agent_link::Report r;
  r.agent = "0.1.0", r.runtime = "10.0.12", r.out = "/tmp/a\x1b";
  r.is_sampling = true;
  r.cpu_hertz = 99;
  r.loaded_for = 2'000'000'000, r.sampling_for = 1'000'000'000;
  r.account.samples = 70, r.account.cut = 3, r.account.lost = 1;
  r.threads = 5, r.methods = 30;
  return r;
}

TEST(AgentStatus, WhatIsCountedIsSaidAndNothingElse) {
  const std::string text = status_text(7, sampling());
  EXPECT_NE(text.find("process 7, .NET 10.0.12: agent 0.1.0, loaded for 2.00 s"), std::string::npos) << text;
  EXPECT_NE(text.find("99 Hz of CPU time"), std::string::npos) << text;
  EXPECT_NE(text.find("70 samples, 3 of them cut, 1 lost\n"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos) << "the agent's words are not trusted";
  EXPECT_EQ(text.find("stays loaded"), std::string::npos);
}

TEST(AgentStatus, AStoppedOneSaysWhatStays) {
  agent_link::Report r = sampling();
  r.is_sampling = false;
  r.remains = "a thread";
  r.untimed = 2;
  const std::string text = status_text(7, r);
  EXPECT_NE(text.find("silent"), std::string::npos);
  EXPECT_NE(text.find("before: 70 samples"), std::string::npos) << text;
  EXPECT_NE(text.find("2 threads without a timer"), std::string::npos);
  EXPECT_NE(text.find("stays loaded: a thread"), std::string::npos);
}

TEST(AgentStatus, JsonIsOneObject) {
  const auto json = nlohmann::json::parse(status_json(7, sampling()));
  EXPECT_EQ(json.at("format"), "mixstack-agent-status");
  EXPECT_EQ(json.at("pid"), 7);
  EXPECT_EQ(json.at("samples"), 70);
  EXPECT_EQ(json.at("sampling"), true);
  EXPECT_EQ(json.at("out"), "/tmp/a\x1b");
  EXPECT_EQ(json.at("remains"), nullptr);
}

}  // namespace
}  // namespace mixstack::agent_client
