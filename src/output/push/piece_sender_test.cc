#include "output/push/piece_sender.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace mixstack::push {
namespace {

std::string fault(PieceSenderOptions options) {
  if (options.url.empty()) options.url = "http://h:4040";
  const auto sender = PieceSender::make(std::move(options));
  return sender ? "" : sender.error();
}

std::string fault_of_headers(const char* file) {
  PieceSenderOptions options;
  options.header_file = file;
  return fault(std::move(options));
}

TEST(PieceSenderTest, WhatIsWrongIsSaidBefore) {
  EXPECT_EQ(fault({}), "");
  EXPECT_NE(fault({.name = "a b"}).find("--push-name"), std::string::npos);
  EXPECT_NE(fault({.labels = {"a"}}).find("--push-label"), std::string::npos);
  EXPECT_NE(fault({.labels = {"a=1", "a=2"}}).find("twice"), std::string::npos);
  EXPECT_NE(fault({.spool = "here"}).find("begin with /"), std::string::npos);
  EXPECT_NE(fault_of_headers("/no/such/file").find("/no/such/file"), std::string::npos);
  EXPECT_NE(fault({.url = "h:4040"}), "");
}

TEST(PieceSenderTest, ATokenIsTakenOutOfTheEnvironment) {
  ASSERT_EQ(::setenv("MIXSTACK_PUSH_TOKEN", "abc", 1), 0);
  EXPECT_EQ(fault({}), "");
  EXPECT_EQ(::getenv("MIXSTACK_PUSH_TOKEN"), nullptr);
  ASSERT_EQ(::setenv("MIXSTACK_PUSH_TOKEN", "a\nb: c", 1), 0);
  EXPECT_NE(fault({}).find("MIXSTACK_PUSH_TOKEN"), std::string::npos);

  char name[] = "/tmp/mixstack-headers-XXXXXX";
  const int fd = ::mkstemp(name);
  ASSERT_GE(fd, 0);
  ::close(fd);
  std::ofstream(name) << "authorization: Basic x\n";
  ASSERT_EQ(::setenv("MIXSTACK_PUSH_TOKEN", "abc", 1), 0);
  EXPECT_NE(fault_of_headers(name).find("one of them"), std::string::npos);
  EXPECT_EQ(fault_of_headers(name), "");
  ::unlink(name);
}

}  // namespace
}  // namespace mixstack::push
