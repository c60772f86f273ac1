#include "features/top/browser.h"

#include <gtest/gtest.h>

#include "features/top/table_text.h"
#include "support/sample_recording.h"

namespace mixstack::top {
namespace {

void add_sample(Browser& browser) {
  const Recording recording = testing::sample_recording();
  ProfileOptions options;
  options.idle = true;
  browser.add(recording, view_of(recording, options));
}

std::string chosen(Browser& browser) {
  const auto& rows = browser.list().rows;
  return rows.empty() ? "" : rows[browser.chosen_row()].name;
}

void choose(Browser& browser, const std::string& name) {
  browser.press(Command::first);
  for (std::size_t i = 0; i < browser.list().rows.size() && chosen(browser) != name; i++) browser.press(Command::down);
  ASSERT_EQ(chosen(browser), name);
}

TEST(Browser, FromAFunctionToItsCallersAndBack) {
  Browser browser;
  add_sample(browser);
  choose(browser, "memcpy");
  browser.press(Command::enter);
  EXPECT_EQ(browser.place(), "callers of memcpy");
  choose(browser, "App.Main(string[])");
  browser.press(Command::enter);
  EXPECT_EQ(browser.place(), "callers of memcpy < App.Main(string[])");
  EXPECT_EQ(chosen(browser), "start");
  browser.press(Command::enter);
  ASSERT_EQ(browser.list().rows.size(), 1u);
  browser.press(Command::enter);
  EXPECT_EQ(browser.place(), "callers of memcpy < App.Main(string[]) < start") << "there is nothing beyond the begin";
  browser.press(Command::back);
  browser.press(Command::back);
  EXPECT_EQ(chosen(browser), "App.Main(string[])") << "where it went in";
  browser.press(Command::callees);
  EXPECT_EQ(browser.place(), "callees of App.Main(string[])") << "another way begins anew";
  browser.press(Command::back);
  browser.press(Command::back);
  browser.press(Command::back);
  EXPECT_EQ(browser.place(), "");
  EXPECT_EQ(chosen(browser), "memcpy");
}

TEST(Browser, FromAThreadToItsFunctions) {
  Browser browser;
  add_sample(browser);
  browser.press(Command::threads);
  ASSERT_TRUE(browser.shows_threads());
  choose(browser, ".NET TP Worker [tid 4712]");
  browser.press(Command::callees);
  EXPECT_TRUE(browser.shows_threads()) << "a thread has no callees";
  browser.press(Command::enter);
  EXPECT_FALSE(browser.shows_threads());
  EXPECT_EQ(browser.place(), "functions of .NET TP Worker [tid 4712]");
  EXPECT_EQ(chosen(browser), "memcpy");
  browser.press(Command::enter);
  EXPECT_EQ(browser.place(), "callers of memcpy, in .NET TP Worker [tid 4712]");
  browser.press(Command::threads);
  EXPECT_TRUE(browser.shows_threads());
  browser.press(Command::threads);
  EXPECT_FALSE(browser.shows_threads());
  EXPECT_EQ(browser.place(), "");
}

TEST(Browser, AChosenRowIsFollowedAndTheFirstIsNot) {
  Browser browser;
  add_sample(browser);
  EXPECT_EQ(browser.chosen_row(), 0u);
  browser.press(Command::sort_next);  // by total
  EXPECT_EQ(browser.chosen_row(), 0u);
  choose(browser, "memcpy");
  browser.press(Command::sort_next);
  browser.press(Command::sort_next);
  EXPECT_EQ(browser.sort_key(), SortKey::module);
  EXPECT_EQ(chosen(browser), "memcpy");
  browser.press(Command::sort_next);
  EXPECT_EQ(browser.sort_key(), SortKey::self);
  browser.press(Command::sort_previous);
  EXPECT_EQ(browser.sort_key(), SortKey::module);
}

TEST(Browser, ThePageFollowsTheChosenRow) {
  Browser browser;
  add_sample(browser);
  browser.set_page(2);
  browser.press(Command::last);
  const std::size_t size = browser.list().rows.size();
  EXPECT_EQ(browser.chosen_row(), size - 1);
  EXPECT_EQ(browser.top_row(), size - 2);
  browser.press(Command::page_up);
  EXPECT_EQ(browser.chosen_row(), size - 3);
  EXPECT_EQ(browser.top_row(), size - 3);
  browser.press(Command::first);
  EXPECT_EQ(browser.top_row(), 0u);
  browser.press(Command::up);
  EXPECT_EQ(browser.chosen_row(), 0u);
  browser.press(Command::last);
  browser.set_page(100);
  EXPECT_EQ(browser.top_row(), 0u) << "all of it fits";
  browser.set_filter("no such name");
  EXPECT_TRUE(browser.list().rows.empty());
  EXPECT_EQ(browser.chosen_row(), 0u);
  for (const Command command : {Command::enter, Command::callees, Command::back, Command::down, Command::last})
    browser.press(command);
  browser.set_filter("");
  EXPECT_EQ(browser.list().rows.size(), size);
}

TEST(Browser, PauseHoldsThePictureAndTheCountingGoesOn) {
  Browser browser;
  browser.show_whole(true);
  add_sample(browser);
  const std::uint64_t once = browser.list().selected;
  browser.press(Command::pause);
  add_sample(browser);
  EXPECT_TRUE(browser.is_paused());
  EXPECT_EQ(browser.list().selected, once);
  browser.press(Command::idle);
  EXPECT_GT(browser.list().selected, once) << "it can be looked at meanwhile";
  browser.press(Command::idle);
  browser.press(Command::pause);
  EXPECT_EQ(browser.list().selected, 2 * once);
  browser.press(Command::whole);
  EXPECT_EQ(browser.list().selected, once) << "the last interval";
  browser.press(Command::reset);
  EXPECT_EQ(browser.list().selected, 0u);
  add_sample(browser);
  browser.press(Command::whole);
  EXPECT_EQ(browser.list().selected, once);
}

TEST(Browser, StatesGoRound) {
  Browser browser;
  add_sample(browser);
  std::string seen;
  for (int i = 0; i < 5; i++) {
    seen += view_line(browser) + "\n";
    browser.press(Command::states);
  }
  for (const char* word : {"busy threads", "running threads", "runnable threads", "waiting threads", "in GC threads"})
    EXPECT_NE(seen.find(word), std::string::npos) << seen;
  EXPECT_EQ(browser.selection().states, StateFilter::busy);
}

}  // namespace
}  // namespace mixstack::top
