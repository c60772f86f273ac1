#include "dotnet/names/exception_reader.h"

#include <gtest/gtest.h>

#include "support/fake_exceptions.h"

namespace mixstack::dotnet::names {
namespace {

constexpr auto kOutermost = ManagedException::kOutermost;

class ExceptionReaderTest : public ::testing::Test {
 protected:
  ExceptionInFlight read(Address object) {
    MethodNames names(heap_.runtime(), {});
    return ExceptionReader(heap_.runtime(), nullptr, names).read(object);
  }
  /// So many exceptions, each the inner one of the one before.
  Address chain(std::size_t length) {
    Address inner = 0;
    for (std::size_t i = 0; i < length; i++) inner = heap_.object(heap_.exception, 0, inner);
    return inner;
  }

  FakeExceptions heap_;
};

TEST_F(ExceptionReaderTest, EverythingAboutOne) {
  const Address object = heap_.object(heap_.mine, heap_.text(u"said \u201cso\u201d\n"), 0, heap_.trace(3));
  const auto result = read(object);
  ASSERT_EQ(result.chain.size(), 1u);
  const ManagedException& e = result.chain[0];
  EXPECT_EQ(e.object, object);
  EXPECT_EQ(e.type, "Ns.Mine");
  EXPECT_TRUE(e.has_message);
  EXPECT_EQ(e.message, "said \u201cso\u201d\n");
  EXPECT_EQ(e.hresult, 0x80131500u);
  EXPECT_EQ(e.inner_of, kOutermost);
  EXPECT_EQ(e.error.code, ErrorCode::none);
  ASSERT_EQ(e.thrown_at.size(), 3u);
  EXPECT_EQ(e.thrown_at[2].ip, 0x5002u);
  EXPECT_EQ(e.thrown_at[2].sp, 0x6020u);
  EXPECT_EQ(e.thrown_at[2].method, 0x7000u);
  EXPECT_FALSE(result.inner_are_cut);
}

TEST_F(ExceptionReaderTest, MessagesAreCutBetweenCharacters) {
  const auto message = [&](std::u16string text) {
    return read(heap_.object(heap_.exception, heap_.text(text), 0)).chain.at(0).message;
  };
  EXPECT_EQ(message(std::u16string(4096, u'x')), std::string(4096, 'x'));
  EXPECT_EQ(message(std::u16string(4097, u'x')), std::string(4096, 'x') + "…");
  EXPECT_EQ(message(std::u16string(4095, u'x') + u"\U0001F600z"), std::string(4095, 'x') + "…");
  EXPECT_EQ(message(u"a\xd800z"), "a\ufffdz");
  EXPECT_EQ(message(u""), "");
}

TEST_F(ExceptionReaderTest, AMessageThatIsNoStringIsNotShown) {
  const auto e = read(heap_.object(heap_.exception, heap_.object(heap_.exception, 0, 0), 0)).chain.at(0);
  EXPECT_FALSE(e.has_message);
  EXPECT_EQ(e.error.code, ErrorCode::mismatch);
  EXPECT_EQ(e.type, "System.Exception");
  EXPECT_FALSE(read(heap_.object(heap_.exception, 0, 0)).chain.at(0).has_message);
}

TEST_F(ExceptionReaderTest, InnerExceptionsToABoundedDepth) {
  const auto three = read(chain(3));
  ASSERT_EQ(three.chain.size(), 3u);
  EXPECT_EQ(three.chain[1].inner_of, 0u);
  EXPECT_EQ(three.chain[2].inner_of, 1u);
  EXPECT_FALSE(three.inner_are_cut);
  const auto many = read(chain(40));
  EXPECT_EQ(many.chain.size(), ExceptionReader::kMaxDepth + 1);
  EXPECT_TRUE(many.inner_are_cut);
}

TEST_F(ExceptionReaderTest, ACycleEnds) {
  const Address outer = heap_.place(0x200), inner = heap_.object(heap_.exception, 0, outer);
  heap_.write_object(outer, heap_.exception, 0, inner);
  const auto result = read(outer);
  EXPECT_EQ(result.chain.size(), 2u);
  EXPECT_TRUE(result.inner_are_cut);
}

TEST_F(ExceptionReaderTest, AnAggregateHasSeveral) {
  const Address first = chain(2), second = chain(1);
  const auto result = read(heap_.object(heap_.mine, 0, first, 0, heap_.list({first, second})));
  ASSERT_EQ(result.chain.size(), 4u);
  EXPECT_EQ(result.chain[1].inner_of, 0u);
  EXPECT_EQ(result.chain[2].inner_of, 1u);
  EXPECT_EQ(result.chain[3].object, second);
  EXPECT_EQ(result.chain[3].inner_of, 0u);
  EXPECT_FALSE(result.inner_are_cut);
}

TEST_F(ExceptionReaderTest, AnAggregateWithoutItsListFallsBackToTheInnerException) {
  const Address inner = chain(1);
  EXPECT_EQ(read(heap_.object(heap_.aggregate, 0, inner, 0, 0)).chain.size(), 2u);
  EXPECT_EQ(read(heap_.object(heap_.aggregate, 0, inner, 0, inner)).chain.size(), 2u);  // no array
}

TEST_F(ExceptionReaderTest, ABushOfAggregatesIsBounded) {
  std::vector<Address> level(20);
  for (Address& a : level) a = chain(1);
  for (int i = 0; i < 4; i++)
    for (Address& a : level) a = heap_.object(heap_.aggregate, 0, 0, 0, heap_.list(level));
  const auto result = read(level[0]);
  EXPECT_EQ(result.chain.size(), ExceptionReader::kMaxChain);
  EXPECT_TRUE(result.inner_are_cut);
}

TEST_F(ExceptionReaderTest, FramesOfOneChainShareABudget) {
  Address inner = 0;
  for (int i = 0; i < 6; i++) inner = heap_.object(heap_.exception, 0, inner, heap_.trace(15'000));
  std::size_t frames = 0;
  const auto result = read(inner);
  for (const ManagedException& e : result.chain) frames += e.thrown_at.size();
  EXPECT_EQ(frames, ExceptionReader::kMaxFrames);
  EXPECT_TRUE(result.chain.back().thrown_at_is_cut);
}

TEST_F(ExceptionReaderTest, WhatIsNoExceptionIsNamedAsSuch) {
  const auto result = read(heap_.text(u"no exception"));
  ASSERT_EQ(result.chain.size(), 1u);
  EXPECT_EQ(result.chain[0].type, "");
  EXPECT_EQ(result.chain[0].error.code, ErrorCode::mismatch);
  EXPECT_TRUE(read(0).chain.empty());
  EXPECT_EQ(read(0xdead0000).chain.at(0).error.code, ErrorCode::unreadable_memory);
  // An inner one that is torn does not take the others with it.
  const auto torn = read(heap_.object(heap_.exception, 0, heap_.text(u"torn")));
  ASSERT_EQ(torn.chain.size(), 2u);
  EXPECT_EQ(torn.chain[0].type, "System.Exception");
  EXPECT_EQ(torn.chain[1].error.code, ErrorCode::mismatch);
}

}  // namespace
}  // namespace mixstack::dotnet::names
