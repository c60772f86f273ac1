#include "output/report/writer.h"

#include <gtest/gtest.h>

#include <vector>

namespace mixstack::report {
namespace {

TEST(Writer, NumbersReadAsTheyShould) {
  const std::string text = collect([](Writer& out) {
    (out.hex(0) << ' ').hex(0xdeadbeef, 12) << ' ';
    (out.hex(~0ull) << ' ').decimal(std::uint64_t{~0ull}) << ' ';
    (out.decimal(std::int64_t{-1}) << ' ').decimal(INT64_MIN);
  });
  EXPECT_EQ(text, "0 0000deadbeef ffffffffffffffff 18446744073709551615 -1 -9223372036854775808");
}

TEST(Writer, PiecesOfEverySizeArriveInOrder) {
  std::string expected, arrived;
  Writer out([&arrived](std::string_view piece) { arrived.append(piece); });
  for (const std::size_t size : {0u, 1u, 65535u, 65536u, 65537u, 1u, 200000u, 7u}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    expected += piece + '|';
    out << piece << '|';
  }
  out.flush();
  EXPECT_EQ(arrived, expected);
}

TEST(Writer, AnEmptyViewIsNoText) {
  EXPECT_EQ(collect([](Writer& out) { out << std::string_view() << "a" << std::string_view() << 'b'; }), "ab");
  std::string arrived;
  Writer out([&arrived](std::string_view piece) { arrived += piece; });
  out << std::string(65536, 'x') << std::string_view() << 'y';  // where the buffer is full
  out.flush();
  EXPECT_EQ(arrived, std::string(65536, 'x') + 'y');
}

TEST(Writer, NothingIsHandedOnBeforeThereIsAPiece) {
  unsigned drained = 0;
  Writer out([&drained](std::string_view) { drained++; });
  out << "short";
  EXPECT_EQ(drained, 0u);
  out.flush();
  out.flush();
  EXPECT_EQ(drained, 1u);
}

}  // namespace
}  // namespace mixstack::report
