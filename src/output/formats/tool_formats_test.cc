// Formats of other tools hold the sums and stacks of a hand-made recording. tests/formats runs the tools themselves.
#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>

#include "output/formats/chrome_trace.h"
#include "output/formats/firefox.h"
#include "output/formats/folded_reader.h"
#include "output/formats/format.h"
#include "output/formats/pprof.h"
#include "output/formats/speedscope.h"
#include "support/sample_recording.h"

namespace mixstack::formats {
namespace {

using nlohmann::json;
using Write = void (*)(report::Writer&, const Recording&, const ProfileOptions&);

std::string written(Write write, const ProfileOptions& options) {
  return report::collect([&](report::Writer& out) { write(out, testing::sample_recording(), options); });
}

std::string unzipped(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(::inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::inflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  (void)::inflateEnd(&stream);
  return out;
}

const ProfileOptions kWall{.clock = SampleClock::wall, .idle = true};

TEST(Speedscope, WeightsInOrderOfTime) {
  const json document = json::parse(written(write_speedscope, kWall));
  const json& profile = document["profiles"][0];
  EXPECT_EQ(profile["type"], "sampled");
  EXPECT_EQ(profile["unit"], "nanoseconds");
  EXPECT_EQ(profile["weights"], json::parse("[300000000,100000000,500000000,50000000,600000000,500000000]"));
  EXPECT_EQ(profile["endValue"], 2'050'000'000u);
  const json& frames = document["shared"]["frames"];
  EXPECT_EQ(frames[profile["samples"][0].back().get<std::size_t>()]["name"], "App.Helper()");
  EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
}

TEST(Speedscope, OneProfileAThread) {
  ProfileOptions options = kWall;
  options.by_thread = true;
  const json document = json::parse(written(write_speedscope, options));
  ASSERT_EQ(document["profiles"].size(), 2u);
  EXPECT_EQ(document["profiles"][0]["name"], "app [tid 4711]");
  EXPECT_EQ(document["profiles"][0]["endValue"], 950'000'000u);
  EXPECT_EQ(document["profiles"][1]["name"], ".NET TP Worker [tid 4712]");
  EXPECT_EQ(document["profiles"][1]["endValue"], 1'100'000'000u);
}

TEST(ChromeTrace, SamplesFramesAndEvents) {
  const json document = json::parse(written(write_chrome_trace, kWall));
  std::uint64_t weight = 0;
  for (const json& sample : document["samples"]) {
    weight += sample["weight"].get<std::uint64_t>();
    EXPECT_TRUE(document["stackFrames"].contains(sample["sf"].get<std::string>()));
  }
  EXPECT_EQ(weight, 205u);
  for (const auto& [id, frame] : document["stackFrames"].items()) {
    if (frame.contains("parent")) {
      EXPECT_TRUE(document["stackFrames"].contains(frame["parent"].get<std::string>()));
    }
  }
  double helper = 0;
  for (const json& event : document["traceEvents"])
    if (event["name"] == "App.Helper()") helper += event["dur"].get<double>();
  EXPECT_EQ(helper, 300'000.0);
}

TEST(Firefox, EveryThreadHasItsTables) {
  const json document = json::parse(unzipped(written(write_firefox, kWall)));
  EXPECT_EQ(document["meta"]["preprocessedProfileVersion"], 48);
  ASSERT_EQ(document["threads"].size(), 2u);
  const json& thread = document["threads"][0];
  std::map<std::string, std::uint64_t> self;
  for (std::size_t i = 0; i < thread["samples"]["length"]; i++) {
    const std::size_t stack = thread["samples"]["stack"][i], frame = thread["stackTable"]["frame"][stack];
    const std::size_t function = thread["frameTable"]["func"][frame];
    self[thread["stringArray"][thread["funcTable"]["name"][function].get<std::size_t>()]] +=
        thread["samples"]["weight"][i].get<std::uint64_t>();
  }
  EXPECT_EQ(self, (std::map<std::string, std::uint64_t>{{"App.Helper()", 30}, {"App.Work()", 60}, {"sys_read", 5}}));
  EXPECT_EQ(thread["frameTable"]["inlineDepth"], json::parse("[0,0,0,1,0]"));
  EXPECT_EQ(document["libs"][0]["breakpadId"], "67452301AB89EFCD0123456789ABCDEF0");
  for (const char* table : {"samples", "stackTable", "frameTable", "funcTable", "resourceTable"})
    for (const auto& [name, column] : thread[table].items()) {
      if (column.is_array()) {
        EXPECT_EQ(column.size(), thread[table]["length"].get<std::size_t>()) << table << name;
      }
    }
}

struct Decoded {
  std::vector<std::string> strings;
  std::vector<std::vector<std::int64_t>> values;
  std::size_t mappings = 0, most_lines = 0;
};

Decoded decoded(const std::string& bytes) {
  Decoded result;
  protozero::pbf_reader profile(bytes);
  while (profile.next()) {
    if (profile.tag() == 6) {
      result.strings.push_back(profile.get_string());
    } else if (profile.tag() == 2) {
      protozero::pbf_reader sample = profile.get_message();
      while (sample.next()) {
        if (sample.tag() == 2) {
          const auto range = sample.get_packed_int64();
          result.values.emplace_back(range.begin(), range.end());
        } else {
          sample.skip();
        }
      }
    } else if (profile.tag() == 4) {
      protozero::pbf_reader location = profile.get_message();
      std::size_t lines = 0;
      while (location.next()) {
        lines += location.tag() == 4 ? 1 : 0;
        location.skip();
      }
      result.most_lines = std::max(result.most_lines, lines);
    } else {
      result.mappings += profile.tag() == 3 ? 1 : 0;
      profile.skip();
    }
  }
  return result;
}

TEST(Pprof, BothClocksAreValuesOfTheirOwn) {
  const Decoded profile = decoded(unzipped(written(write_pprof, {.idle = true})));
  EXPECT_EQ(profile.strings.at(0), "");
  std::vector<std::int64_t> sums(3);
  for (const auto& values : profile.values) {
    ASSERT_EQ(values.size(), 3u);
    for (std::size_t i = 0; i < 3; i++) sums[i] += values[i];
  }
  EXPECT_EQ(sums, (std::vector<std::int64_t>{212, 7'000'000, 2'050'000'000}));
  EXPECT_EQ(profile.mappings, 3u);
  EXPECT_EQ(profile.most_lines, 2u);  // Helper in Work
}

TEST(ToolFormats, FoldedStacksHaveTheNameOfTheirFileAndNoProcess) {
  auto recording = read_folded("main;work 3\n", "few.folded");
  ASSERT_TRUE(recording);
  recording->facts.version = "1.2.3";
  const auto text = [&](Format format) {
    return report::collect([&](report::Writer& out) { write_as(format, out, *recording, {}); });
  };
  const json speedscope = json::parse(text(Format::speedscope));
  EXPECT_EQ(speedscope["name"], "few.folded");
  EXPECT_EQ(speedscope["profiles"][0]["name"], "few.folded");
  EXPECT_EQ(speedscope["exporter"], "mixstack 1.2.3");
  const json firefox = json::parse(unzipped(text(Format::firefox)));
  EXPECT_EQ(firefox["meta"]["product"], "few.folded");
  EXPECT_EQ(firefox["meta"]["importedFrom"], "mixstack 1.2.3");
  EXPECT_EQ(firefox["threads"][0]["processName"], "few.folded");
  EXPECT_EQ(firefox["threads"][0]["name"], "few.folded");
  const json trace = json::parse(text(Format::chrome_trace));
  EXPECT_EQ(trace["traceEvents"][0]["args"]["name"], "few.folded");
  EXPECT_EQ(trace["traceEvents"][1]["args"]["name"], "few.folded");
  EXPECT_EQ(trace["otherData"]["recorded by"], "mixstack 1.2.3");
  for (const std::string& string : decoded(unzipped(text(Format::pprof))).strings)
    EXPECT_TRUE(string != "thread_id" && string != "thread" && string != "state") << string;
  const std::string picture = text(Format::svg);
  EXPECT_NE(picture.find("<title>few.folded</title>"), std::string::npos) << picture;
  for (const char* const words : {"pid", " in 0", "none lost", "processor time"})
    EXPECT_EQ(picture.find(words), std::string::npos) << words;
  EXPECT_NE(text(Format::html).find("<title>few.folded</title>"), std::string::npos);
}

TEST(ToolFormats, ARecordingWithoutSamples) {
  for (std::size_t f = 0; f <= static_cast<std::size_t>(kLastFormat); f++) {
    const std::string text =
        report::collect([f](report::Writer& out) { write_as(static_cast<Format>(f), out, Recording(), {}); });
    const auto format = static_cast<Format>(f);
    if (format == Format::speedscope || format == Format::chrome_trace) {
      EXPECT_TRUE(json::accept(text)) << text;
    } else if (format == Format::firefox) {
      EXPECT_TRUE(json::accept(unzipped(text)));
    } else if (format == Format::pprof) {
      EXPECT_EQ(decoded(unzipped(text)).strings.at(0), "");
    }
  }
}

TEST(Format, TheEndOfANameTells) {
  EXPECT_EQ(format_of("a.speedscope.json"), Format::speedscope);
  EXPECT_EQ(format_of("/tmp/a.profile.json.gz"), Format::firefox);
  EXPECT_EQ(format_of("a.pb.gz"), Format::pprof);
  EXPECT_EQ(format_of("a.trace.json"), Format::chrome_trace);
  EXPECT_EQ(format_of("a.mxr"), Format::recording);
  EXPECT_EQ(format_of(".html"), std::nullopt);
  EXPECT_EQ(format_of("a.json"), std::nullopt);
  for (std::size_t f = 0; f <= static_cast<std::size_t>(kLastFormat); f++) {
    const auto format = static_cast<Format>(f);
    EXPECT_EQ(format_of("a" + std::string(extension_of(format))), format);
    EXPECT_EQ(format_called(word_of(format)), format);
  }
}

}  // namespace
}  // namespace mixstack::formats
