#include "output/report/fit.h"

#include <gtest/gtest.h>

namespace mixstack::report {
namespace {

TEST(Fit, ContentsOfPairs) {
  EXPECT_EQ(without_contents("A.B(int, C<D>).lambda#2()", '(', ')'), "A.B(…).lambda#2()");
  EXPECT_EQ(without_contents("A<B<C>, D>.E<F>(G)", '<', '>'), "A<…>.E<…>(G)");
  EXPECT_EQ(without_contents("operator<(A", '(', ')'), "operator<(A");  // no end: as it was
  EXPECT_EQ(without_contents("a)b(c)", '(', ')'), "a)b(…)");
  EXPECT_EQ(without_contents("", '(', ')'), "");
}

TEST(Fit, TheMiddleGoes) {
  EXPECT_EQ(shorten_middle("abcdefghij", 10), "abcdefghij");
  EXPECT_EQ(shorten_middle("abcdefghij", 7), "ab…ghij");
  EXPECT_EQ(shorten_middle("äöüßäöüßäöüß", 7), "äö…äöüß");
  EXPECT_EQ(shorten_middle("abc", 1), "…");
  EXPECT_EQ(shorten_middle("abc", 0), "");
}

FrameWords words() { return {"Shop.Cart.Add<Item>(Item, int)", "Shop", "/src/Shop/Cart.cs", ":42"}; }

std::string fitted(std::size_t fixed, std::size_t width) {
  FrameWords w = words();
  fit(w, fixed, width);
  return w.name + "|" + w.place + "|" + w.file + w.line;
}

TEST(Fit, LeavesOutWhatTellsLeastFirst) {
  EXPECT_EQ(fitted(0, 0), "Shop.Cart.Add<Item>(Item, int)|Shop|/src/Shop/Cart.cs:42");
  EXPECT_EQ(fitted(0, 63), "Shop.Cart.Add<Item>(Item, int)|Shop|/src/Shop/Cart.cs:42");
  EXPECT_EQ(fitted(0, 62), "Shop.Cart.Add<Item>(Item, int)|Shop|Cart.cs:42");
  EXPECT_EQ(fitted(0, 52), "Shop.Cart.Add<Item>(…)|Shop|Cart.cs:42");
  EXPECT_EQ(fitted(0, 40), "Shop.Cart.Add<Item>(…)||Cart.cs:42");
  EXPECT_EQ(fitted(0, 36), "Shop.Cart.Add<…>(…)||Cart.cs:42");
  EXPECT_EQ(fitted(0, 32), "Shop.…t.Add<…>(…)||Cart.cs:42");
  EXPECT_EQ(fitted(20, 72), "Shop.Cart.Add<Item>(…)|Shop|Cart.cs:42");  // `fixed` columns are not ours
  // A name always keeps some columns.
  EXPECT_GE(columns(fitted(70, 72).substr(0, fitted(70, 72).find('|'))), 16u);
}

}  // namespace
}  // namespace mixstack::report
