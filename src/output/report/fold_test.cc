#include "output/report/fold.h"

#include <gtest/gtest.h>

#include <random>

#include "support/sample_dump.h"

namespace mixstack::report {
namespace {

using Repeats = std::vector<Repeat>;

std::vector<Repeat> in(const std::string& text, FoldLimits limits = {32, 3, 6}) {
  std::vector<std::uint32_t> keys(text.begin(), text.end());
  return find_repeats(keys, limits);
}

TEST(Fold, FindsWhatRepeats) {
  EXPECT_EQ(in(""), Repeats{});
  EXPECT_EQ(in("abcdef"), Repeats{});
  EXPECT_EQ(in("aaaaaa"), (Repeats{{0, 1, 6}}));
  EXPECT_EQ(in("xabababy"), (Repeats{{1, 2, 3}}));
  EXPECT_EQ(in("xabababay"), (Repeats{{1, 2, 3}}));  // whole times only
  EXPECT_EQ(in("xyabcabcabcz"), (Repeats{{2, 3, 3}}));
  EXPECT_EQ(in("aaaaaabcbcbcbc"), (Repeats{{0, 1, 6}, {6, 2, 4}}));
}

TEST(Fold, FewOrShortRepetitionsStayAsTheyAre) {
  EXPECT_EQ(in("xabcdefabcdefx"), Repeats{});  // twice
  EXPECT_EQ(in("aaaaax"), Repeats{});          // five lines
  EXPECT_EQ(in(std::string(40, 'a'), {}), (Repeats{{0, 1, 40}}));
  EXPECT_EQ(in(std::string(11, 'a'), {}), Repeats{});
}

TEST(Fold, TheShortestPeriodOfThoseThatCoverMost) {
  EXPECT_EQ(in(std::string(24, 'a')), (Repeats{{0, 1, 24}}));  // not 12 times two
  // Every round ends with a run of its own: the round counts.
  std::string rounds;
  for (int i = 0; i < 10; i++) rounds += "aaaaaab";
  EXPECT_EQ(in(rounds), (Repeats{{0, 7, 10}}));
}

TEST(Fold, PeriodsAreBounded) {
  std::string round;
  for (char c = '0'; c < '0' + 33; c++) round += c;
  EXPECT_EQ(in(round + round + round + round), Repeats{});
  round.pop_back();
  EXPECT_EQ(in(round + round + round + round), (Repeats{{0, 32, 4}}));
}

TEST(Fold, EveryRepeatOfRandomSequencesIsOne) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; round++) {
    std::vector<std::uint32_t> keys;
    while (keys.size() < 200) {
      const std::size_t period = random() % 5 + 1, times = random() % 12 + 1;
      std::vector<std::uint32_t> part;
      for (std::size_t i = 0; i < period; i++) part.push_back(static_cast<std::uint32_t>(random() % 3));
      for (std::size_t i = 0; i < times; i++) keys.insert(keys.end(), part.begin(), part.end());
    }
    std::size_t end = 0;
    for (const Repeat& r : find_repeats(keys, {8, 3, 12})) {
      ASSERT_GE(r.first, end);
      ASSERT_LE(r.end(), keys.size());
      ASSERT_GE(r.count, 3u);
      ASSERT_GE(r.length(), 12u);
      for (std::size_t i = r.first + r.period; i < r.end(); i++) ASSERT_EQ(keys[i], keys[i - r.period]);
      end = r.end();
    }
  }
}

TEST(Fold, AHugeSequenceTakesLinearTime) {
  // Nothing repeats, everything nearly does: quadratic behaviour would not end.
  std::vector<std::uint32_t> keys;
  for (std::uint32_t i = 0; i < 2'000'000; i++) keys.push_back(i % 31 == 0 ? i : i % 31);
  EXPECT_EQ(find_repeats(keys), Repeats{});
}

TEST(Fold, FramesAreTheSameWhenTheyReadTheSame) {
  ProcessDump dump = testing::sample_dump();
  ThreadDump& thread = dump.threads[0];
  thread.trace.frames.clear();
  thread.symbols.clear();
  for (Address i = 0; i < 40; i++) {
    thread.trace.frames.push_back(testing::frame_at(0x1000 + i, 0x7000 + 16 * i, FrameKind::managed));
    thread.symbols.push_back(2 + i % 2);
  }
  EXPECT_EQ(Folder(dump, {}).repeats(thread), (Repeats{{0, 2, 20}}));
  thread.trace.frames[10].trust = Trust::inferred;  // a doubt is never folded away
  EXPECT_EQ(Folder(dump, {}).repeats(thread), (Repeats{{11, 2, 14}}));
  thread.symbols.assign(40, 0);  // unnamed: each its address
  EXPECT_EQ(Folder(dump, {}).repeats(thread), Repeats{});
  thread.symbols.assign(40, 999);
  EXPECT_EQ(Folder(dump, {}).repeats(thread), Repeats{});
}

}  // namespace
}  // namespace mixstack::report
