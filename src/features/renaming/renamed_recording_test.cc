#include "features/renaming/renamed_recording.h"

#include <gtest/gtest.h>

#include <string>

#include "support/sample_recording.h"

namespace mixstack::renaming {
namespace {

constexpr const char* kId = "aabbccdd";

/// A stack of two native places without names, one managed frame between them.
class Unnamed {
 public:
  Unnamed() {
    const auto process = *recording.process({.pid = 1, .comm = "app"});
    const auto thread = *recording.add_thread({.process = process, .tid = 7, .comm = "worker"});
    context_ = *recording.context({.thread = thread, .activity = Activity::running});
    module = *recording.module({"libapp.so", "/srv/libapp.so", kId});
    nameless = *recording.function({.module = module});
    outer = frame({.function = nameless, .trust = Trust::frame_pointer, .address = 0x10});
    managed = frame({.function = *recording.function({.name = "App.Run()", .kind = CodeKind::managed}), .line = 3});
    inner = frame({.function = nameless, .address = 0x20});
    add({outer, managed, inner}, 5);
  }
  std::uint32_t frame(const RecordedFrame& frame) { return *recording.frame(frame); }
  void add(const std::vector<std::uint32_t>& outermost_first, std::uint32_t count) {
    std::uint32_t node = 0;
    for (const std::uint32_t f : outermost_first) node = *recording.node({node, f});
    ASSERT_TRUE(recording.add({0, node, context_, count}));
  }
  Recording recording;
  std::uint32_t module = 0, nameless = 0, outer = 0, managed = 0, inner = 0;

 private:
  std::uint32_t context_ = 0;
};

SymbolInfo symbol(std::string name, std::string file = "", std::uint32_t line = 0) {
  SymbolInfo s;
  s.raw_name = "_Z" + name;
  s.name = std::move(name);
  s.file = std::move(file);
  s.line = line;
  return s;
}

/// "outer a.c:1 > inner" of a sample, innermost last.
std::string stack_text(const Recording& recording, std::size_t sample) {
  std::string text;
  const auto frames = recording.frames_of(recording.samples()[sample].stack);
  for (auto f = frames.rbegin(); f != frames.rend(); ++f) {
    const RecordedFrame& frame = recording.frames()[*f];
    text += (text.empty() ? "" : " > ") + shown_name(recording, frame.function);
    if (frame.file != kNoIndex) text += " " + recording.files()[frame.file] + ":" + std::to_string(frame.line);
    if (frame.inlining != Inlining::none) text += " inlined";
  }
  return text;
}

TEST(RenamedRecording, NativePlacesGetNamesLinesAndWhatWasInlined) {
  Unnamed from;
  std::size_t asked = 0;
  const auto made = renamed(from.recording, [&](std::uint32_t module, std::uint64_t address) {
    EXPECT_EQ(module, from.module);
    asked++;
    if (address == 0x10) return std::vector{symbol("start")};
    return std::vector{symbol("tiny", "t.h", 4), symbol("small", "t.h", 9), symbol("work", "w.c", 30)};
  });
  ASSERT_TRUE(made);
  EXPECT_EQ(asked, 2u);
  ASSERT_EQ(made->samples().size(), 1u);
  EXPECT_EQ(made->samples().front().count, 5u);
  EXPECT_EQ(stack_text(*made, 0), "start > App.Run() > work w.c:30 > small t.h:9 inlined > tiny t.h:4 inlined");
  const auto frames = made->frames_of(made->samples().front().stack);
  ASSERT_EQ(frames.size(), 5u);
  for (std::size_t i = 0; i < 3; i++) EXPECT_EQ(made->frames()[frames[i]].address, 0x20u);
  EXPECT_EQ(made->frames()[frames[4]].trust, Trust::frame_pointer);
  EXPECT_EQ(made->functions()[made->frames()[frames[2]].function].raw_name, "_Zwork");
  EXPECT_EQ(made->functions()[made->frames()[frames[2]].function].module, from.module);
}

TEST(RenamedRecording, WhatNobodyKnowsStays) {
  Unnamed from;
  const auto made = renamed(from.recording, [](std::uint32_t, std::uint64_t address) {
    return address == 0x10 ? std::vector<SymbolInfo>{} : std::vector{symbol("")};
  });
  ASSERT_TRUE(made);
  EXPECT_EQ(stack_text(*made, 0), "[libapp.so] > App.Run() > [libapp.so]");
  EXPECT_EQ(made->frames(), from.recording.frames());
}

TEST(RenamedRecording, WhatHasALineOrInlinedFunctionsIsNotAsked) {
  Unnamed from;
  const auto known = *from.recording.function({.name = "known", .module = from.module});
  const auto with_line = from.frame({.function = known, .line = 5, .address = 0x30});
  const auto with_inlined = from.frame({.function = known, .address = 0x40});
  const auto inlined =
      from.frame({.function = known, .line = 6, .inlining = Inlining::debug_information, .address = 0x40});
  const auto elsewhere = from.frame({.function = *from.recording.function({.name = "jit"}), .address = 0x50});
  from.add({with_line, with_inlined, inlined, elsewhere}, 1);
  const std::vector<bool> unnamed = unnamed_frames(from.recording);
  EXPECT_TRUE(unnamed[from.outer]);
  EXPECT_TRUE(unnamed[from.inner]);
  for (const std::uint32_t frame : {from.managed, with_line, with_inlined, inlined, elsewhere})
    EXPECT_FALSE(unnamed[frame]) << frame;
}

TEST(RenamedRecording, ANameThatWasKnownGivesWayOnlyToMoreThanAName) {
  Unnamed from;
  const auto known = *from.recording.function({.name = "known", .module = from.module, .is_user = true});
  from.add({from.frame({.function = known, .address = 0x60}), from.frame({.function = known, .address = 0x70})}, 1);
  const auto made = renamed(from.recording, [](std::uint32_t, std::uint64_t address) {
    return std::vector{address == 0x70 ? symbol("better", "b.c", 2) : symbol("alias")};
  });
  ASSERT_TRUE(made);
  EXPECT_EQ(stack_text(*made, 1), "known > better b.c:2");
  const auto frames = made->frames_of(made->samples()[1].stack);
  EXPECT_TRUE(made->functions()[made->frames()[frames[0]].function].is_user);
}

TEST(RenamedRecording, WithoutNewNamesItIsTheSameRecording) {
  const Recording from = testing::sample_recording();
  const auto made = renamed(from, [](std::uint32_t, std::uint64_t) { return std::vector<SymbolInfo>(); });
  ASSERT_TRUE(made);
  EXPECT_EQ(made->functions(), from.functions());
  EXPECT_EQ(made->frames(), from.frames());
  EXPECT_EQ(made->nodes(), from.nodes());
  EXPECT_EQ(made->contexts(), from.contexts());
  ASSERT_EQ(made->samples().size(), from.samples().size());
  for (std::size_t i = 0; i < from.samples().size(); i++) {
    EXPECT_EQ(made->samples()[i].time_ns, from.samples()[i].time_ns);
    EXPECT_EQ(made->samples()[i].stack, from.samples()[i].stack);
    EXPECT_EQ(made->samples()[i].context, from.samples()[i].context);
    EXPECT_EQ(made->samples()[i].count, from.samples()[i].count);
  }
  EXPECT_EQ(made->facts.account.samples, from.facts.account.samples);
  EXPECT_EQ(made->threads().size(), from.threads().size());
}

TEST(RenamedRecording, SlicesOfTimeStay) {
  Unnamed from;
  from.recording.make_coarser(1000);
  const auto made = renamed(from.recording, [](std::uint32_t, std::uint64_t) { return std::vector{symbol("f")}; });
  ASSERT_TRUE(made);
  EXPECT_EQ(made->slice_ns(), 1000u);
}

TEST(RenamedRecording, StacksThatBecomeTooDeepAreAnError) {
  Recording from;
  const auto process = *from.process({.pid = 1});
  const auto context = *from.context({.thread = *from.add_thread({.process = process})});
  const auto module = *from.module({"a", "/a", kId});
  const auto frame = *from.frame({.function = *from.function({.module = module}), .address = 0x10});
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < Recording::kMostBelow; i++) node = *from.node({node, frame});
  ASSERT_TRUE(from.add({0, node, context, 1}));
  const auto made = renamed(from, [](std::uint32_t, std::uint64_t) {
    return std::vector{symbol("in", "a.c", 1), symbol("out", "a.c", 2)};
  });
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ErrorCode::limit_exceeded);
}

}  // namespace
}  // namespace mixstack::renaming
