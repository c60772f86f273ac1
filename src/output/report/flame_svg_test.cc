#include "output/report/flame_svg.h"

#include <gtest/gtest.h>

#include <regex>

#include "output/report/escape.h"
#include "output/report/fit.h"
#include "output/report/flame_tree.h"

namespace mixstack::report {
namespace {

class FlameSvg : public testing::Test {
 protected:
  FlameSvg() {
    recording_.facts.wall_hertz = 100;
    RecordedThread thread;
    thread.process = recording_.process({}).value();
    thread_ = recording_.add_thread(thread).value();
  }
  std::uint32_t below(std::uint32_t node, const std::string& name, std::uint32_t line = 0) {
    RecordedFunction function;
    function.name = name;
    RecordedFrame frame;
    frame.function = recording_.function(function).value();
    frame.line = line;
    return recording_.node({node, recording_.frame(frame).value()}).value();
  }
  void sample(std::uint32_t stack, std::uint32_t count, SampleClock clock = SampleClock::wall) {
    SampleContext context;
    context.thread = thread_;
    context.clock = clock;
    EXPECT_TRUE(recording_.add({0, stack, recording_.context(context).value(), count}));
    recording_.facts.account.samples += count;
  }
  std::string svg(const FlameOptions& options = {}) {
    return collect([&](Writer& out) { write_flame_svg(out, recording_, options); });
  }
  Recording recording_;
  std::uint32_t thread_ = 0;
};

TEST_F(FlameSvg, EqualFunctionsAreOneBoxWhateverTheirLines) {
  const std::uint32_t main = below(0, "main");
  sample(below(main, "work", 1), 20);
  sample(below(main, "work", 2), 40);
  sample(main, 40);
  const FlameTree tree = flame_tree(recording_, std::nullopt);
  ASSERT_EQ(tree.nodes.size(), 3u);
  EXPECT_EQ(tree.nodes[1].total, 100u);
  EXPECT_EQ(tree.nodes[1].self, 40u);
  EXPECT_EQ(tree.nodes[2].total, 60u);
  EXPECT_EQ(tree.deepest, 2u);
  const std::string picture = svg();
  EXPECT_NE(picture.find("<title>work: 60 samples, 60.00 %; self 60, 60.00 %</title>"), std::string::npos);
  EXPECT_NE(picture.find("width=\"707.5\""), std::string::npos);  // 60 % of 1180, less the gap
}

TEST_F(FlameSvg, ClocksAreNotAdded) {
  sample(below(0, "on_cpu"), 5, SampleClock::cpu);
  sample(below(0, "asleep"), 500);
  EXPECT_EQ(flame_tree(recording_, std::nullopt).nodes[0].total, 5u);
  EXPECT_EQ(flame_tree(recording_, SampleClock::wall).nodes[0].total, 500u);
  recording_.facts.cpu_hertz = 999;
  EXPECT_NE(svg().find("shown: 5 samples of processor time"), std::string::npos);
}

TEST_F(FlameSvg, HostileNamesAreText) {
  const std::string names[] = {"</svg><script>x</script>", "a & b \" '",          "\x01\x1b[0m",
                               "bad \xff utf\xc3",         "\xe2\x80\xae turned", "\xef\xbf\xbe"};
  for (const std::string& name : names) sample(below(0, name), 10);
  const std::string picture = svg();
  EXPECT_EQ(picture.find("<script"), std::string::npos);
  std::string_view rest = picture;
  while (!rest.empty()) {
    const CodePoint c = first_code_point(rest);
    ASSERT_TRUE(c.valid);
    EXPECT_TRUE(c.value == '\n' || c.value >= 0x20) << c.value;
    EXPECT_NE(c.value, 0xfffeu);
    rest.remove_prefix(c.size);
  }
  EXPECT_EQ(std::regex_search(picture, std::regex("&(?!(amp|lt|gt|quot|#39);)")), false);
}

TEST_F(FlameSvg, WhatIsNotShownIsSaid) {
  sample(below(0, "wide"), 1'000'000);
  for (int i = 0; i < 50; i++) sample(below(0, "narrow" + std::to_string(i)), 1);
  recording_.facts.account.lost_in_kernel = 3;
  recording_.facts.notes = {"a note"};
  const std::string picture = svg();
  EXPECT_NE(picture.find("50 boxes too narrow to see: left out."), std::string::npos);
  EXPECT_NE(picture.find(". a note."), std::string::npos);
  EXPECT_NE(picture.find("lost: 3 in the kernel"), std::string::npos);
  EXPECT_EQ(picture.find("narrow1"), std::string::npos);
}

TEST_F(FlameSvg, WordsBelowStayWithinThePicture) {
  sample(below(0, "work"), 1);
  recording_.facts.source = "perf events and a BPF iterator";
  for (int i = 0; i < 12; i++)
    recording_.facts.notes.push_back("no perf events: perf_event_paranoid does not allow it");
  recording_.facts.notes.push_back(std::string(500, 'x'));
  for (const unsigned width : {400u, 1200u}) {
    FlameOptions options;
    options.width = width;
    const std::string picture = svg(options);
    const std::regex line("<text class=\"plain faint\" x=\"10.0\" y=\"([0-9]+)\">([^<]*)</text>");
    std::smatch height;
    ASSERT_TRUE(std::regex_search(picture, height, std::regex(" height=\"([0-9]+)\" viewBox")));
    std::size_t lines = 0, notes = 0;
    for (std::sregex_iterator at(picture.begin(), picture.end(), line), end; at != end; ++at, lines++) {
      EXPECT_LE(static_cast<double>(columns((*at)[2].str())) * 6.6, width - 20.0) << (*at)[2];
      EXPECT_LT(std::stoi((*at)[1]), std::stoi(height[1]));
      if ((*at)[2].str().find("paranoid") != std::string::npos) notes++;
    }
    EXPECT_GT(lines, 3u);
    EXPECT_GE(notes, width == 400u ? 12u : 4u);
  }
}

TEST_F(FlameSvg, WaitingForAProcessorIsToldFromRunning) {
  const auto runnable =
      recording_.context({.thread = thread_, .clock = SampleClock::wall, .activity = Activity::runnable});
  const std::uint32_t stack = below(0, "work");
  sample(stack, 30);
  EXPECT_EQ(svg().find("waiting for a processor"), std::string::npos);
  ASSERT_TRUE(recording_.add({.stack = stack, .context = *runnable, .count = 10}));
  EXPECT_NE(svg().find("25.0 % of them"), std::string::npos);
}

TEST_F(FlameSvg, DeepStacksAreCutAndOrientationTurns) {
  std::uint32_t node = 0;
  for (int i = 0; i < 3000; i++) node = below(node, i % 2 ? "odd" : "even");
  sample(node, 10);
  FlameOptions options;
  const std::string flame = svg(options);
  EXPECT_LT(flame.size(), 500'000u);
  options.icicle = true;
  EXPECT_NE(svg(options).find("<rect class=\"all\" x=\"10.0\" y=\"52\""), std::string::npos);
  EXPECT_EQ(flame.find("<rect class=\"all\" x=\"10.0\" y=\"52\""), std::string::npos);
}

TEST_F(FlameSvg, NothingSampled) { EXPECT_NE(svg().find("</svg>"), std::string::npos); }

}  // namespace
}  // namespace mixstack::report
