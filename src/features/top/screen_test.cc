#include "features/top/screen.h"

#include <gtest/gtest.h>

#include "support/sample_recording.h"

namespace mixstack::top {
namespace {

struct Shown {
  Browser browser;
  TopFacts facts{.pid = 4711, .command = "orders", .source = "perf events", .notes = {"a", "b", "c"}};
  Screen screen{true};

  Shown() {
    const Recording recording = testing::sample_recording();
    ProfileOptions options;
    options.idle = true;
    browser.add(recording, view_of(recording, options));
  }
  Screen::Effect type(std::u32string_view text) {
    auto effect = Screen::Effect::shown;
    for (const char32_t c : text) effect = screen.press({Key::Kind::character, c}, browser);
    return effect;
  }
  std::vector<ScreenLine> lines(std::size_t rows = 24, std::size_t columns = 80) {
    return screen.lines(browser, facts, rows, columns);
  }
  std::vector<std::string> chosen() {
    std::vector<std::string> texts;
    for (const ScreenLine& line : lines())
      if (line.look == LineLook::chosen) texts.push_back(line.text);
    return texts;
  }
};

TEST(Screen, OneRowIsChosenAndFilledToTheEdge) {
  Shown shown;
  const auto first = shown.chosen();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(columns_of(first.front()), 80u);
  (void)shown.screen.press({Key::Kind::down}, shown.browser);
  const auto next = shown.chosen();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_NE(next, first);
}

TEST(Screen, NoLineIsBelowOrBeyondAScreenOfAnySize) {
  Shown shown;
  for (const char32_t mode : {U' ', U'h', U'/'}) {
    shown.type(std::u32string(1, mode));
    for (const std::size_t rows : {1u, 2u, 3u, 7u, 8u, 15u, 16u, 200u})
      for (const std::size_t columns : {1u, 2u, 20u, 300u})
        for (const ScreenLine& line : shown.lines(rows, columns)) {
          EXPECT_LT(line.at, rows);
          EXPECT_LE(columns_of(line.text), columns);
        }
  }
}

TEST(Screen, AFilterIsTypedCorrectedAndTakenBack) {
  Shown shown;
  shown.type(U"/mem");
  EXPECT_EQ(shown.browser.filter(), "mem");
  EXPECT_EQ(shown.lines().back().text, "only names with: mem_");
  shown.type(U"\u00e9");
  (void)shown.screen.press({Key::Kind::backspace}, shown.browser);
  EXPECT_EQ(shown.browser.filter(), "mem") << "a character of two bytes goes as one";
  EXPECT_EQ(shown.type(U"q"), Screen::Effect::shown) << "a letter of the filter, not the end";
  shown.type(U"\u0015");
  EXPECT_EQ(shown.browser.filter(), "");
  shown.type(U"x\r");
  EXPECT_EQ(shown.browser.filter(), "x");
  shown.type(U"/yz\u001b");
  EXPECT_EQ(shown.browser.filter(), "x") << "Escape restores the one before";
  EXPECT_EQ(shown.type(U"q"), Screen::Effect::quit);
}

TEST(Screen, AFilterHasAnEnd) {
  Shown shown;
  shown.type(U"/" + std::u32string(5000, U'a'));
  EXPECT_EQ(shown.browser.filter().size(), 256u);
}

TEST(Screen, HelpHasAllNotesAndIsLeftByAnyKey) {
  Shown shown;
  const std::string list = shown.lines().back().text;
  EXPECT_EQ(shown.type(U"?"), Screen::Effect::shown);
  EXPECT_EQ(shown.lines().back().text, "c");
  (void)shown.screen.press({Key::Kind::other}, shown.browser);
  EXPECT_EQ(shown.lines().back().text, list);
  shown.type(U"h");
  EXPECT_EQ(shown.type(U"q"), Screen::Effect::quit);
  EXPECT_EQ(shown.type(U"\f"), Screen::Effect::repaint);
}

TEST(Screen, ATerminalWithoutUtf8GetsAsciiAlone) {
  Shown shown;
  shown.facts.command = "caf\xc3\xa9";
  shown.screen = Screen(false);
  for (const ScreenLine& line : shown.lines(24, 30))
    for (const char c : line.text) EXPECT_GE(c, ' ') << line.text;
}

}  // namespace
}  // namespace mixstack::top
