#include "output/report/escape.h"

#include <gtest/gtest.h>

namespace mixstack::report {
namespace {

TEST(Escape, WellFormedTextStays) {
  EXPECT_EQ(escape_for_terminal("List`1<Größe>.Ξ 漢 🙂"), "List`1<Größe>.Ξ 漢 🙂");
  EXPECT_EQ(json_string("a\"b\\c/ü"), "\"a\\\"b\\\\c/ü\"");
}

// Unicode 15, table 3-7: which sequences are well-formed.
TEST(Escape, IllFormedSequencesAreOneByteEach) {
  for (const std::string_view bad : {"\x80", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
                                     "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\xff"}) {
    const CodePoint c = first_code_point(bad);
    EXPECT_FALSE(c.valid);
    EXPECT_EQ(c.size, 1u);
  }
  EXPECT_EQ(first_code_point("\xf4\x8f\xbf\xbf").value, 0x10ffffu);
  EXPECT_EQ(first_code_point("\xed\x9f\xbf").value, 0xd7ffu);
}

TEST(Escape, ControlCharactersBecomeVisible) {
  EXPECT_EQ(escape_for_terminal("\n\t\r\x1b[2J\x7f"), "\\n\\t\\x0d\\x1b[2J\\x7f");
  EXPECT_EQ(escape_for_terminal("\xc2\x85\xe2\x80\xa8"), "\\u{0085}\\u{2028}");
  EXPECT_EQ(json_string("\x01\x1f"), "\"\\u0001\\u001f\"");
}

}  // namespace
}  // namespace mixstack::report
