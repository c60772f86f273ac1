// OTLP profiles, decoded field by field as profiles.proto has them. tests/live/test_push.py decodes them with another
// program.
#include "output/formats/otlp.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <map>
#include <protozero/pbf_reader.hpp>

#include "support/sample_recording.h"

namespace mixstack::formats {
namespace {

using protozero::pbf_reader;

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

/// Fields of a message by number, in their order.
struct Fields {
  explicit Fields(const std::string& bytes) {
    for (pbf_reader reader(bytes); reader.next();) {
      const std::uint32_t tag = reader.tag();
      switch (reader.wire_type()) {
        case protozero::pbf_wire_type::varint:
          numbers[tag].push_back(reader.get_int64());
          break;
        case protozero::pbf_wire_type::fixed64:
          numbers[tag].push_back(static_cast<std::int64_t>(reader.get_fixed64()));
          break;
        default:
          messages[tag].push_back(reader.get_bytes());
      }
    }
  }
  [[nodiscard]] std::int64_t number(std::uint32_t tag) const { return numbers.contains(tag) ? numbers.at(tag)[0] : 0; }
  [[nodiscard]] std::vector<std::string> all(std::uint32_t tag) const {
    return messages.contains(tag) ? messages.at(tag) : std::vector<std::string>();
  }
  [[nodiscard]] Fields only(std::uint32_t tag) const {
    EXPECT_EQ(all(tag).size(), 1u) << tag;
    return Fields(all(tag).empty() ? "" : all(tag)[0]);
  }
  [[nodiscard]] std::vector<std::int64_t> packed(std::uint32_t tag) const {
    std::vector<std::int64_t> values;
    for (const std::string& bytes : all(tag)) {
      std::string message("\x0a");  // a field again, for the reader of packed numbers
      message += static_cast<char>(bytes.size());
      pbf_reader reader(message += bytes);
      reader.next();
      for (const std::int64_t value : reader.get_packed_int64()) values.push_back(value);
    }
    return values;
  }
  std::map<std::uint32_t, std::vector<std::int64_t>> numbers{};
  std::map<std::uint32_t, std::vector<std::string>> messages{};
};

class OtlpTest : public ::testing::Test {
 protected:
  explicit OtlpTest()
      : request_(unzipped(report::collect([](report::Writer& out) {
          OtlpOptions otlp{.resource = {{"env", "prod"}, {"service.name", "shop"}, {"host.name", "mine"}},
                           .version = "1"};
          otlp.id.fill(7);
          write_otlp(out, mixstack::testing::sample_recording(), {.idle = true}, otlp);
        }))),
        dictionary_(request_.only(2)) {}

  [[nodiscard]] std::string text(std::int64_t index) const {
    return dictionary_.all(5).at(static_cast<std::size_t>(index));
  }
  /// "innermost;...;outermost"
  [[nodiscard]] std::string stack(std::int64_t index) const {
    std::string names;
    for (const std::int64_t location : Fields(dictionary_.all(7).at(static_cast<std::size_t>(index))).packed(1))
      for (const std::string& line : Fields(dictionary_.all(2).at(static_cast<std::size_t>(location))).all(3)) {
        const Fields function(dictionary_.all(3).at(static_cast<std::size_t>(Fields(line).number(1))));
        names += (names.empty() ? "" : ";") + text(function.number(1));
      }
    return names;
  }
  [[nodiscard]] std::map<std::string, std::string> attributes(const std::vector<std::int64_t>& indices) const {
    std::map<std::string, std::string> found;
    for (const std::int64_t index : indices) {
      const Fields attribute(dictionary_.all(6).at(static_cast<std::size_t>(index)));
      const Fields value = attribute.only(2);
      found[text(attribute.number(1))] = value.all(1).empty() ? std::to_string(value.number(3)) : value.all(1)[0];
    }
    return found;
  }

  Fields request_, dictionary_;
};

TEST_F(OtlpTest, EveryTableBeginsWithNothing) {
  for (const std::uint32_t table : {1u, 2u, 3u, 5u, 6u, 7u}) {
    ASSERT_GT(dictionary_.all(table).size(), 1u) << table;
    EXPECT_EQ(dictionary_.all(table)[0], "") << table;
  }
  EXPECT_EQ(dictionary_.all(4).size(), 1u);
  EXPECT_EQ(dictionary_.only(4).all(1)[0], std::string(16, '\0'));
}

TEST_F(OtlpTest, AResourceIsAProcess) {
  const Fields resource = request_.only(1).only(1);
  std::map<std::string, std::string> found;
  for (const std::string& attribute : resource.all(1)) {
    const Fields value = Fields(attribute).only(2);
    EXPECT_TRUE(found
                    .emplace(Fields(attribute).all(1)[0],
                             value.all(1).empty() ? std::to_string(value.number(3)) : value.all(1)[0])
                    .second);
  }
  EXPECT_EQ(found, (std::map<std::string, std::string>{{"env", "prod"},
                                                       {"service.name", "shop"},
                                                       {"host.name", "mine"},
                                                       {"host.arch", "amd64"},
                                                       {"process.pid", "4711"},
                                                       {"process.executable.name", "app"}}));
  const Fields scope = request_.only(1).only(2).only(1);
  EXPECT_EQ(scope.all(1)[0] + " " + scope.all(2)[0], "mixstack 1");
}

TEST_F(OtlpTest, AProfileIsAClock) {
  const auto profiles = request_.only(1).only(2).all(2);
  ASSERT_EQ(profiles.size(), 2u);
  std::map<std::string, std::int64_t> sums;
  std::map<std::string, std::int64_t> stacks;
  std::set<std::string> ids;
  for (const std::string& bytes : profiles) {
    const Fields profile(bytes);
    const Fields type = profile.only(1), period = profile.only(5);
    const std::string name = text(type.number(1)) + "/" + text(type.number(2)) + " per " + text(period.number(1)) +
                             "/" + text(period.number(2)) + " " + std::to_string(profile.number(6));
    for (const std::string& sample : profile.all(2)) {
      const auto values = Fields(sample).packed(4);
      ASSERT_EQ(values.size(), 1u);
      sums[name] += values[0];
      stacks[stack(Fields(sample).number(1))] += values[0];
    }
    EXPECT_EQ(profile.number(3), 1'764'000'000'000'000'000);
    EXPECT_EQ(profile.number(4), 2'000'000'000);
    EXPECT_EQ(profile.all(7)[0].size(), 16u);
    ids.insert(profile.all(7)[0]);
  }
  EXPECT_EQ(ids.size(), 2u);
  EXPECT_EQ(sums,
            (std::map<std::string, std::int64_t>{{"samples/count per cpu/nanoseconds 1000000", 7},
                                                 {"wall/nanoseconds per wall/nanoseconds 10000000", 2'050'000'000}}));
  EXPECT_EQ(stacks.at("App.Helper();App.Work();App.Main(string[]);start"), 300'000'000);
  EXPECT_EQ(stacks.at("App.Work();App.Main(string[]);start"), 600'000'007);
}

TEST_F(OtlpTest, SamplesKnowTheirThreadAndFramesTheirKind) {
  std::map<std::string, std::int64_t> states;
  for (const std::string& bytes : request_.only(1).only(2).all(2))
    for (const std::string& sample : Fields(bytes).all(2)) {
      const auto found = attributes(Fields(sample).packed(2));
      states[found.at("mixstack.state") + " " + found.at("thread.id")]++;
      EXPECT_FALSE(found.at("thread.name").empty());
    }
  EXPECT_EQ(states.at("waiting 4712"), 1);
  std::set<std::string> kinds;
  for (const std::string& location : dictionary_.all(2))
    for (const auto& [key, value] : attributes(Fields(location).packed(4))) kinds.insert(key + "=" + value);
  EXPECT_TRUE(kinds.contains("profile.frame.type=dotnet"));
  EXPECT_TRUE(kinds.contains("profile.frame.type=native"));
  EXPECT_TRUE(kinds.contains("profile.frame.type=kernel"));
  std::set<std::string> ids;
  for (const std::string& mapping : dictionary_.all(1))
    for (const auto& [key, value] : attributes(Fields(mapping).packed(5))) ids.insert(key + "=" + value);
  EXPECT_TRUE(ids.contains("process.executable.build_id.gnu=0123456789abcdef0123456789abcdef01234567"));
}

TEST(OtlpAnswerTest, WhatAServerSays) {
  EXPECT_EQ(read_otlp_answer("")->rejected, 0);
  const auto partial = read_otlp_answer(std::string("\x0a\x07\x08\x02\x12\x03why", 9));
  ASSERT_TRUE(partial);
  EXPECT_EQ(partial->rejected, 2);
  EXPECT_EQ(partial->words, "why");
  EXPECT_TRUE(read_otlp_answer(std::string("\x12\x03why", 5))) << "a field of a later version";
  EXPECT_FALSE(read_otlp_answer("<html>no</html>"));
  EXPECT_FALSE(read_otlp_answer(std::string("\x0a\x7f\x08", 3)));
}

}  // namespace
}  // namespace mixstack::formats
