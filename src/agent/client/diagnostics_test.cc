#include "agent/client/diagnostics.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mixstack::agent_client {
namespace {

using std::chrono::milliseconds;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// "DOTNET_IPC_V1", size 24, server's command set, OK or error, HRESULT.
std::vector<std::byte> answer(unsigned char command, std::uint32_t status) {
  auto out = bytes_of(std::string_view("DOTNET_IPC_V1\0\x18\0\xff", 17));
  out.push_back(std::byte{command});
  out.push_back({}), out.push_back({});
  for (int i = 0; i < 4; i++) out.push_back(static_cast<std::byte>(status >> (8 * i)));
  return out;
}

TEST(Diagnostics, TheRequestIsLaidOutAsTheProtocolSays) {
  const auto request = attach_request("/a\xc3\xa9\xf0\x9f\x98\x80", "k=v\n", milliseconds(10'000));
  const auto word = [&](std::size_t at, std::size_t size) {
    std::uint32_t value = 0;
    std::memcpy(&value, request.data() + at, size);
    return value;
  };
  EXPECT_EQ(std::memcmp(request.data(), "DOTNET_IPC_V1\0", 14), 0);
  EXPECT_EQ(word(14, 2), request.size());
  EXPECT_EQ(word(16, 1), 3u);
  EXPECT_EQ(word(17, 1), 1u);
  EXPECT_EQ(word(20, 4), 10'000u);
  EXPECT_EQ(std::memcmp(request.data() + 24, kAgentId.data(), 16), 0);
  // Characters with their zero: "/", "a", U+00E9, a surrogate pair.
  EXPECT_EQ(word(40, 4), 6u);
  EXPECT_EQ(word(44, 2), '/');
  EXPECT_EQ(word(48, 2), 0xe9u);
  EXPECT_EQ(word(50, 2), 0xd83du);
  EXPECT_EQ(word(52, 2), 0xde00u);
  EXPECT_EQ(word(54, 2), 0u);
  EXPECT_EQ(word(56, 4), 4u);
  EXPECT_EQ(std::memcmp(request.data() + 60, "k=v\n", 4), 0);
  EXPECT_EQ(request.size(), 64u);
}

TEST(Diagnostics, AnswersAreReadToTheLastByte) {
  const auto ok = decode_answer(answer(0x00, 0)), refused = decode_answer(answer(0xff, 0x8013136a));
  ASSERT_TRUE(ok && refused);
  EXPECT_FALSE(ok->is_error);
  EXPECT_TRUE(refused->is_error);
  EXPECT_EQ(refused->status, 0x8013136au);
  const auto whole = answer(0, 0);
  for (std::size_t size = 0; size < whole.size(); size++) EXPECT_FALSE(decode_answer(std::span(whole).first(size)));
  auto longer = whole;
  longer.push_back({});
  EXPECT_FALSE(decode_answer(longer));
  EXPECT_FALSE(decode_answer(answer(7, 0))) << "neither OK nor error";
}

TEST(Diagnostics, SizesThatLieAreNoSizes) {
  for (const unsigned size : {0u, 19u, 5000u, 65535u}) {
    auto header = answer(0, 0);
    header[14] = static_cast<std::byte>(size), header[15] = static_cast<std::byte>(size >> 8);
    EXPECT_FALSE(answer_size(header)) << size;
  }
  EXPECT_FALSE(answer_size(bytes_of("HTTP/1.1 400 Bad Request\r\n")));
}

TEST(Diagnostics, EveryRefusalHasItsNumberAndWords) {
  for (const std::uint32_t status : {0x8013136au, 0x8007007eu, 0x8013136fu, 0x80131371u, 0x80004005u, 0x12345678u}) {
    char number[16];
    (void)std::snprintf(number, sizeof number, "0x%08x", status);
    EXPECT_NE(words_of(status).find(number), std::string::npos) << words_of(status);
  }
  EXPECT_NE(words_of(0x8013136a).find("takes only one"), std::string::npos);
  EXPECT_NE(words_of(0x8007007e).find("not there"), std::string::npos);
}

}  // namespace
}  // namespace mixstack::agent_client
