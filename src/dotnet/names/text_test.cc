#include <gtest/gtest.h>

#include "base/memory/buffer_memory.h"
#include "dotnet/names/bounded_text.h"
#include "dotnet/names/managed_string.h"

namespace mixstack::dotnet::names {
namespace {

TEST(Printable, ControlsAndOverridesAreEscaped) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "evil"),
            "\\u{202e}evil");
  EXPECT_EQ(printable("\xc2\x85"), "\\x85");
  EXPECT_EQ(printable("überladen Ж 漢 😀"), "überladen Ж 漢 😀");
}

TEST(Printable, BrokenUtf8IsShownAsBytes) {
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\xc0\x80"), "\\xc0\\x80");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(printable("\xe2\x82", true), "");  // a character that the cut went through
}

TEST(BoundedText, CutsOnceAndMarks) {
  BoundedText text(5);
  text << "abc"
       << "defg"
       << "h";
  EXPECT_TRUE(text.is_cut());
  EXPECT_EQ(std::move(text).take(), "abcde…");
}

TEST(ManagedString, ReadsCutsAndRefuses) {
  Layouts layouts;
  layouts.string.length.offset = 8;
  layouts.string.first_char.offset = 12;
  memory::BufferMemory memory;
  std::vector<std::byte> object(8);
  const std::u16string value = u"h\u00e9\U0001F600!";
  object.resize(12 + value.size() * 2);
  const auto length = static_cast<std::uint32_t>(value.size());
  std::memcpy(object.data() + 8, &length, 4);
  std::memcpy(object.data() + 12, value.data(), value.size() * 2);
  memory.add(0x1000, object);
  const RuntimeMemory runtime(memory, layouts);
  EXPECT_EQ(read_managed_string(runtime, 0x1000, 100).value(), "hé😀!");
  EXPECT_EQ(read_managed_string(runtime, 0x1000, 3).value(), "hé…");  // never half a pair
  EXPECT_FALSE(read_managed_string(runtime, 0, 100));
  memory.add_value(0x2000, std::array<std::uint32_t, 4>{0, 0, 0x80000000u, 0});
  EXPECT_EQ(read_managed_string(runtime, 0x2000, 100).error().code, ErrorCode::malformed);
  memory.add_value(0x3000, std::array<std::uint32_t, 3>{0, 0, 1000});
  EXPECT_FALSE(read_managed_string(runtime, 0x3000, 100));
}

TEST(WideString, EndsAtNulLimitAndHole) {
  memory::BufferMemory memory;
  memory.add_value(0x1000, std::array<char16_t, 4>{u'/', u'a', 0, u'x'});
  EXPECT_EQ(read_wide_string(memory, 0x1000, 100).value(), "/a");
  EXPECT_EQ(read_wide_string(memory, 0x1000, 1).value(), "/…");
  memory.add_value(0x2000, std::array<char16_t, 2>{u'a', 0xd800});
  EXPECT_FALSE(read_wide_string(memory, 0x2000, 100));
  memory.add_value(0x3000, std::array<char16_t, 3>{0xdc00, u'b', 0});
  EXPECT_EQ(read_wide_string(memory, 0x3000, 100).value(), "\\u{dc00}b");
}

}  // namespace
}  // namespace mixstack::dotnet::names
