#include "process/pack/blanker.h"

#include <gtest/gtest.h>

namespace mixstack::pack {
namespace {

std::string blanked(const Blanker& blanker, std::string text, bool goes_on = false) {
  (void)blanker.blank(std::as_writable_bytes(std::span(text)), goes_on);
  return text;
}

TEST(Blanker, FindsTextsWhereverTheyLie) {
  const Blanker blanker({"hunter22", "correct horse"});
  EXPECT_EQ(blanked(blanker, "a hunter22, hunter22hunter22."), "a ********, ****************.");
  EXPECT_EQ(blanked(blanker, "the correct horse\n"), "the *************\n");
  EXPECT_EQ(blanked(blanker, "hunter2"), "*******") << "what there is of it at the end";
  EXPECT_EQ(blanked(blanker, "hunt"), "hunt") << "too little to know";
}

TEST(Blanker, FindsUtf16) {
  const Blanker blanker({"pässword"});
  const std::u16string text = u"x pässword y";
  std::string bytes(reinterpret_cast<const char*>(text.data()), text.size() * 2);
  const std::u16string wanted = u"x ******** y";
  EXPECT_EQ(blanked(blanker, bytes), std::string(reinterpret_cast<const char*>(wanted.data()), wanted.size() * 2));
}

TEST(Blanker, TheLongestOfThoseThatBeginAlikeCounts) {
  EXPECT_EQ(blanked(Blanker({"secret", "secret-of-two"}), "secret-of-two"), std::string(13, '*'));
}

TEST(Blanker, AtTheEndOfAPieceItWaitsForTheRest) {
  EXPECT_EQ(blanked(Blanker({"hunter22"}), "xx hunter2", true), "xx hunter2");
}

TEST(Blanker, ShortTextsAreLeft) { EXPECT_EQ(blanked(Blanker({"true"}), "true"), "true"); }

}  // namespace
}  // namespace mixstack::pack
