#include "features/record/stack_ends.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

namespace mixstack::record {
namespace {

constexpr std::string_view kMaps =
    "1000-2000 rw-p 00000000 00:00 0\n"
    "5000-6000 ---p 00000000 00:00 0 \n"
    "6000-9000 rw-p 00000000 00:00 0 \n"
    "9000-a000 rw-p 00000000 00:00 0      [anon: rest of it]\n"
    "a000-b000 r-xp 00001000 08:01 77     /lib/a.so\n"
    "b000-c000 rw-p 00002000 08:01 77     /lib/a.so\n"
    "garbage\n"
    "7ffd0000-7ffe0000 rw-p 00000000 00:00 0                  [stack]\n"
    "7ffe0000-7fff0000 rw-p 00000000 00:00 09\n";

TEST(StackEnds, EndWhereOtherMemoryBegins) {
  EXPECT_EQ(stack_around(kMaps, 0x1800), (AddressRange{0x1000, 0x2000}));
  EXPECT_EQ(stack_around(kMaps, 0x6000), (AddressRange{0x6000, 0xa000}));
  EXPECT_EQ(stack_around(kMaps, 0x7ffdff00), (AddressRange{0x7ffd0000, 0x7ffe0000}));
  for (const Address nowhere : {Address{0}, Address{0x2000}, Address{0x5800}, Address{0xa800}, Address{0xb800}})
    EXPECT_TRUE(stack_around(kMaps, nowhere).empty()) << nowhere;
  EXPECT_TRUE(stack_around("", 1).empty());
}

TEST(StackEnds, OfOurOwnThread) {
  pthread_attr_t attributes;
  ASSERT_EQ(::pthread_getattr_np(::pthread_self(), &attributes), 0);
  void* begin = nullptr;
  std::size_t size = 0;
  ASSERT_EQ(::pthread_attr_getstack(&attributes, &begin, &size), 0);
  ::pthread_attr_destroy(&attributes);
  const Address end = reinterpret_cast<Address>(begin) + size, sp = reinterpret_cast<Address>(&size);

  StackEnds ends(static_cast<std::uint32_t>(::getpid()));
  constexpr std::size_t kMuch = std::size_t{1} << 40;
  EXPECT_EQ(ends.fit(7, sp, kMuch), kMuch);  // not known yet
  ends.look(1'000'000'000);
  const std::size_t known = ends.fit(7, sp, kMuch);
  EXPECT_LT(known, kMuch);
  EXPECT_GE(known, end - sp);
  EXPECT_EQ(ends.fit(7, sp, 100), 100u);
  ends.forget(7);
  EXPECT_EQ(ends.fit(7, sp, kMuch), kMuch);
  ends.look(1'000'000'001);  // too soon
  EXPECT_EQ(ends.fit(7, sp, kMuch), kMuch);
}

TEST(StackEnds, AnotherStackIsCopiedWhole) {
  StackEnds ends(static_cast<std::uint32_t>(::getpid()));
  int here = 0;
  const Address sp = reinterpret_cast<Address>(&here);
  std::uint64_t now = 1'000'000'000;
  EXPECT_EQ(ends.fit(7, sp, 1u << 30), 1u << 30);
  ends.look(now);
  EXPECT_LT(ends.fit(7, sp, 1u << 30), 1u << 30);
  EXPECT_EQ(ends.fit(7, 16, 5000), 5000u);
  ends.look(now += 1'000'000'000);
  EXPECT_EQ(ends.fit(7, 16, 5000), 5000u);
}

}  // namespace
}  // namespace mixstack::record
