#include "output/formats/recording_file.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <random>

#include "output/formats/folded.h"
#include "output/formats/recording_blocks.h"
#include "support/sample_recording.h"

namespace mixstack::formats {
namespace {

std::string written(const Recording& recording) {
  return report::collect([&](report::Writer& out) { write_recording(out, recording); });
}

Result<Recording> read(std::string_view bytes) {
  // A copy of just these bytes: what reads beyond them is seen by AddressSanitizer.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  return read_recording({reinterpret_cast<const std::byte*>(copy.data()), copy.size()});
}

std::string folded(const Recording& recording) {
  return report::collect([&](report::Writer& out) {
    write_folded(out, recording, {.clock = SampleClock::wall, .idle = true, .by_thread = true});
  });
}

TEST(RecordingFile, EverythingIsInIt) {
  const Recording original = testing::sample_recording();
  const std::string bytes = written(original);
  const auto copy = read(bytes);
  ASSERT_TRUE(copy);
  EXPECT_EQ(written(*copy), bytes);
  EXPECT_EQ(folded(*copy), folded(original));
  EXPECT_EQ(copy->modules(), original.modules());
  EXPECT_EQ(copy->files(), original.files());
  EXPECT_EQ(copy->functions(), original.functions());
  EXPECT_EQ(copy->frames(), original.frames());
  EXPECT_EQ(copy->nodes(), original.nodes());
  EXPECT_EQ(copy->contexts(), original.contexts());
  const RecordingFacts &a = copy->facts, &b = original.facts;
  EXPECT_EQ(std::tie(a.started_unix_ns, a.duration_ns, a.cpu_hertz, a.wall_hertz, a.source, a.arch, a.host, a.version),
            std::tie(b.started_unix_ns, b.duration_ns, b.cpu_hertz, b.wall_hertz, b.source, b.arch, b.host, b.version));
  EXPECT_EQ(std::tie(a.own_cpu_ns, a.holds.counts, a.holds.total_ns, a.holds.longest_ns, a.holds.holds, a.notes),
            std::tie(b.own_cpu_ns, b.holds.counts, b.holds.total_ns, b.holds.longest_ns, b.holds.holds, b.notes));
  const RecordingAccount &x = a.account, &y = b.account;
  EXPECT_EQ(std::tie(x.samples, x.walked, x.cut, x.lost_in_kernel, x.lost_in_queue, x.lost_in_tree, x.lost_to_stops,
                     x.skipped),
            std::tie(y.samples, y.walked, y.cut, y.lost_in_kernel, y.lost_in_queue, y.lost_in_tree, y.lost_to_stops,
                     y.skipped));
  ASSERT_EQ(copy->samples().size(), original.samples().size());
  for (std::size_t i = 0; i < copy->samples().size(); i++) {
    const Sample &s = copy->samples()[i], &t = original.samples()[i];
    EXPECT_EQ(std::tie(s.time_ns, s.stack, s.context, s.count), std::tie(t.time_ns, t.stack, t.context, t.count));
  }
  const RecordedThread &t = copy->threads()[0], &u = original.threads()[0];
  EXPECT_EQ(std::tie(t.process, t.tid, t.comm, t.name, t.first_ns, t.last_ns),
            std::tie(u.process, u.tid, u.comm, u.name, u.first_ns, u.last_ns));
  const RecordedProcess &p = copy->processes()[0], &q = original.processes()[0];
  EXPECT_EQ(std::tie(p.pid, p.parent, p.comm, p.command, p.runtime),
            std::tie(q.pid, q.parent, q.comm, q.command, q.runtime));
}

TEST(RecordingFile, CutAtEveryByteItGivesWhatIsWhole) {
  const std::string bytes = written(testing::sample_recording());
  std::size_t with_samples = 0;
  for (std::size_t size = 0; size < bytes.size(); size++) {
    const auto part = read(std::string_view(bytes).substr(0, size));
    if (!part) {
      EXPECT_TRUE(part.error().code == ErrorCode::mismatch || part.error().code == ErrorCode::truncated) << size;
      continue;
    }
    EXPECT_TRUE(part->facts.notes.back().starts_with("the file is cut")) << size;
    with_samples += part->samples().empty() ? 0 : 1;
  }
  EXPECT_GT(with_samples, 0u);
  const auto almost = read(std::string_view(bytes).substr(0, bytes.size() - 1));  // the end alone is missing
  ASSERT_TRUE(almost);
  EXPECT_TRUE(almost->facts.notes.back().ends_with(": here are 212 of its 212 samples")) << almost->facts.notes.back();
}

TEST(RecordingFile, OneWrongByteIsNoticed) {
  const std::string bytes = written(testing::sample_recording());
  for (std::size_t i = 0; i < bytes.size(); i++) {
    std::string wrong = bytes;
    wrong[i] = static_cast<char>(wrong[i] ^ 0x20);
    const auto part = read(wrong);
    if (part) {
      EXPECT_TRUE(part->facts.notes.back().starts_with("the file is cut")) << i;
    }
  }
}

std::string block(std::uint16_t type, std::string_view plain) {
  BlockHeader header{type, 0, static_cast<std::uint32_t>(plain.size()), static_cast<std::uint32_t>(plain.size()), 0};
  char bytes[sizeof header];
  std::memcpy(bytes, &header, sizeof header);
  const auto crc = [](uLong before, std::string_view text) {
    if (text.empty()) return before;
    return ::crc32(before, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size()));
  };
  header.crc = static_cast<std::uint32_t>(crc(crc(0, {bytes, kHeaderWithoutCrc}), plain));
  std::memcpy(bytes, &header, sizeof header);
  return std::string(bytes, sizeof bytes).append(plain);
}

TEST(RecordingFile, BlocksOfALaterVersionAreSkipped) {
  const std::string bytes = written(testing::sample_recording());
  const std::string end = block(static_cast<std::uint16_t>(BlockType::end), "");
  ASSERT_TRUE(bytes.ends_with(end));
  const std::string later = bytes.substr(0, bytes.size() - end.size()) + block(999, "something new") + end;
  const auto read_back = read(later);
  ASSERT_TRUE(read_back);
  EXPECT_EQ(written(*read_back), bytes);
}

TEST(RecordingFile, IndicesOfNothingAreRefused) {
  std::string bytes = written(Recording());
  bytes.resize(bytes.size() - sizeof(BlockHeader));
  using namespace std::string_literals;
  for (const auto& [type, plain] : {std::pair{BlockType::threads, "\x01\x05\x00\x00\x00\x00\x00"s},
                                    {BlockType::functions, "\x01\x00\x00\x09\x00\x00"s},
                                    {BlockType::frames, "\x01\x00\x00\x00\x00\x00\x00"s},
                                    {BlockType::nodes, "\x01\x01\x00"s},
                                    {BlockType::nodes, "\x01\x09\x00"s},
                                    {BlockType::contexts, "\x01\x00\x00\x00\x00\x00\x00\x00"s},
                                    {BlockType::samples, "\x01\x00\x00\x00\x01"s},
                                    {BlockType::samples, "\x7f"s},
                                    {BlockType::facts, ""s}}) {
    const auto wrong = read(bytes + block(static_cast<std::uint16_t>(type), plain));
    ASSERT_FALSE(wrong) << static_cast<int>(type);
    EXPECT_EQ(wrong.error().code, ErrorCode::malformed);
    EXPECT_EQ(wrong.error().value, bytes.size());
  }
}

TEST(RecordingFile, ManyElementsInFewBytesAreRefused) {
  std::string bytes = written(Recording());
  bytes.resize(bytes.size() - sizeof(BlockHeader));
  using namespace std::string_literals;
  constexpr std::size_t kMany = 1u << 14;
  const std::string notes = "\x80\x80\x01"s + std::string(kMany, '\0');  // empty ones
  const auto wrong = read(bytes + block(static_cast<std::uint16_t>(BlockType::notes), notes));
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::malformed);
}

TEST(RecordingFile, OtherFilesAndVersions) {
  EXPECT_EQ(read("a;b 1\n").error().code, ErrorCode::mismatch);
  std::string bytes = written(Recording());
  bytes[sizeof kRecordingMagic] = 7;
  EXPECT_EQ(read(bytes).error(), (Error{ErrorCode::unsupported, 0, 7}));
}

/// 40 functions, 2,000 stacks of 20 frames, 16 threads at 1,000 Hz with some jitter.
TEST(RecordingFile, AMillionSamplesOfASteadyWorkload) {
  std::mt19937_64 random(7);
  Recording recording;
  const auto process = recording.process({.pid = 1, .comm = "app"});
  std::vector<std::uint32_t> contexts, frames, stacks;
  for (std::uint32_t t = 0; t < 16; t++) {
    const auto thread = recording.add_thread({.process = *process, .tid = t});
    contexts.push_back(*recording.context({.thread = *thread, .activity = Activity::running}));
  }
  for (std::uint64_t f = 0; f < 40; f++) {
    const auto function =
        recording.function({.name = "Some.Namespace.SomeType.Method" + std::to_string(f) + "(int, string)"});
    frames.push_back(*recording.frame({.function = *function, .address = 0x7f0000000000 + f * 4096 + random() % 4096}));
  }
  for (std::size_t s = 0; s < 2000; s++) {
    std::uint32_t node = 0;
    for (std::size_t d = 0; d < 20; d++) node = *recording.node({node, frames[random() % frames.size()]});
    stacks.push_back(node);
  }
  for (std::uint64_t i = 0; i < 1'000'000; i++)
    ASSERT_TRUE(
        recording.add({i / 16 * 1'000'000 + random() % 50'000, stacks[random() % stacks.size()], contexts[i % 16]}));
  const std::string bytes = written(recording);
  EXPECT_LE(bytes.size(), 24u * 1'000'000u);
  RecordProperty("bytes_for_a_million_samples", std::to_string(bytes.size()));
  const auto copy = read(bytes);
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->samples().size(), 1'000'000u);
  EXPECT_TRUE(written(*copy) == bytes);
}

}  // namespace
}  // namespace mixstack::formats
