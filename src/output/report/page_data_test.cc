#include "output/report/page_data.h"

#include <gtest/gtest.h>

#include <zlib.h>
#include <map>

#include <nlohmann/json.hpp>

namespace mixstack::report {
namespace {

Recording two_stacks() {
  Recording recording;
  recording.facts.duration_ns = 1'000'000'000;
  recording.facts.wall_hertz = 100;
  recording.facts.arch = "x86_64";
  recording.facts.notes = {"a </script> note"};
  RecordedProcess process;
  process.pid = 7;
  process.command = "x \xff\x1b y";
  RecordedThread thread;
  thread.process = recording.process(process).value();
  thread.tid = 8;
  SampleContext context;
  context.thread = recording.add_thread(thread).value();
  context.system_call = 202;
  const std::uint32_t in = recording.context(context).value();
  std::vector<std::uint32_t> frames;
  for (const char* const name : {"outer", "unused", "inner"}) {
    RecordedFunction function;
    function.name = name;
    RecordedFrame frame;
    frame.function = recording.function(function).value();
    frame.line = 300 + frame.function;
    frames.push_back(recording.frame(frame).value());
  }
  const std::uint32_t outer = recording.node({0, frames[0]}).value();
  (void)recording.node({outer, frames[1]});  // no sample is of it
  const std::uint32_t inner = recording.node({outer, frames[2]}).value();
  EXPECT_TRUE(recording.add({990'000'000, inner, in, 3}));
  EXPECT_TRUE(recording.add({0, outer, in, 2}));
  EXPECT_TRUE(recording.add({1000, outer, in, 5}));  // in the same slice of time
  return recording;
}

/// As the page reads it.
struct Read {
  explicit Read(const std::string& bytes) {
    EXPECT_EQ(bytes.substr(0, 4), "MXP1");
    std::size_t size = 0;
    for (unsigned i = 0; i < 4; i++) size |= std::size_t{static_cast<unsigned char>(bytes[4 + i])} << (8 * i);
    EXPECT_EQ(size % 4, 0u);
    head = nlohmann::json::parse(bytes.substr(8, size));
    std::size_t at = 8 + size;
    for (const auto& column : head["columns"]) {
      const std::size_t width = column["width"], count = column["count"];
      std::vector<std::uint32_t>& values = columns[column["name"].get<std::string>()];
      for (std::size_t i = 0; i < count; i++) {
        std::uint32_t value = 0;
        for (std::size_t plane = 0; plane < width; plane++)
          value |= std::uint32_t{static_cast<unsigned char>(bytes.at(at + plane * count + i))} << (8 * plane);
        values.push_back(value);
      }
      at += width * count;
    }
    EXPECT_EQ(at, bytes.size());
  }
  nlohmann::json head;
  std::map<std::string, std::vector<std::uint32_t>> columns;
};

using Words = std::vector<std::uint32_t>;

TEST(PageData, TheHeadSaysHowThePageBegins) {
  const auto look_of = [](const PageLook& look) { return Read(page_data(two_stacks(), "", look)).head["look"]; };
  EXPECT_EQ(look_of({})["idle"], false);
  EXPECT_EQ(look_of({.idle = true})["idle"], true);
  EXPECT_EQ(look_of({.inverted = true})["inverted"], true);
  EXPECT_EQ(look_of({.clock = SampleClock::cpu})["clock"], 0);
  EXPECT_EQ(look_of({})["clock"], 1);  // the one that there are samples of
  EXPECT_TRUE(Read(page_data(Recording(), "")).head["look"]["clock"].is_null());
}

TEST(PageData, ColumnsHoldTreeAndSamples) {
  Read read(page_data(two_stacks(), "name"));
  EXPECT_EQ(read.columns["node_parent"], (Words{0, 1, 1}));  // distances; the node without samples is left out
  EXPECT_EQ(read.columns["node_frame"].at(2), 2u);
  EXPECT_EQ(read.columns["frame_line"], (Words{300, 301, 302}));
  // A part for each slice that a sample of many periods lasted.
  std::map<std::uint32_t, std::uint64_t> counts;
  for (std::size_t i = 0; i < read.columns["sample_count"].size(); i++)
    counts[read.columns["sample_stack"][i]] += read.columns["sample_count"][i];
  EXPECT_EQ(counts, (std::map<std::uint32_t, std::uint64_t>{{1, 7}, {2, 3}}));
  EXPECT_GT(read.columns["sample_count"].size(), 2u);
  EXPECT_EQ(read.columns["context_call"], (Words{202}));
  EXPECT_EQ(read.head["calls"]["202"], "futex");
  EXPECT_EQ(read.head["functions"], (nlohmann::json{"outer", "unused", "inner"}));
  EXPECT_EQ(read.head["name"], "name");
}

TEST(PageData, SlicesFitThePeriodAndAreFew) {
  Recording recording = two_stacks();
  EXPECT_EQ(Read(page_data(recording, "")).head["slice_ns"].get<std::uint64_t>(), 10'000'000u / 40 + 1 - 1);
  recording.facts.duration_ns = 3'600'000'000'000;
  const std::uint64_t slice = Read(page_data(recording, "")).head["slice_ns"];
  EXPECT_EQ(slice % 10'000'000, 0u);
  EXPECT_LE(recording.facts.duration_ns / slice, kPageSlices);
}

TEST(PageData, TextsAreSafe) {
  const Read read(page_data(two_stacks(), ""));
  EXPECT_EQ(read.head["processes"][0]["command"], "x \\xff\\x1b y");
  EXPECT_EQ(read.head["facts"]["notes"][0], "a </script> note");  // the page puts it in as base 64
}

TEST(PageData, CompressedWhereThatIsSmaller) {
  const std::string data = page_data(two_stacks(), std::string(5000, 'x'));
  const std::string small = deflated(data, 6);
  ASSERT_LT(small.size(), data.size() / 2);
  std::string again(data.size(), '\0');
  uLongf size = again.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(again.data()), &size, reinterpret_cast<const Bytef*>(small.data()),
                       small.size()),
            Z_OK);
  EXPECT_EQ(again, data);
  EXPECT_EQ(deflated("abc", 6), "abc");
}

TEST(PageData, AnEmptyRecording) {
  Read read(page_data(Recording(), ""));
  EXPECT_EQ(read.columns["node_parent"], (Words{0}));
  EXPECT_TRUE(read.columns["sample_slice"].empty());
}

}  // namespace
}  // namespace mixstack::report
