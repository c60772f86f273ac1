#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>

#include "mixstack/memory_files.h"
#include "output/formats/moment_blocks.h"
#include "support/sample_moment.h"

namespace mixstack::formats {
namespace {

std::string moment_bytes(const MemoryMoment& moment) {
  std::string out;
  write_moment(moment, [&](std::string_view piece) { out += piece; });
  return out;
}

Result<MemoryMoment> read_back(std::string_view bytes) {
  // A copy of just these bytes: what reads beyond them is seen by AddressSanitizer.
  const std::vector<char> copy(bytes.begin(), bytes.end());
  return read_moment(std::as_bytes(std::span(copy.data(), copy.size())));
}

std::string with_block(std::uint16_t type, std::string_view plain) {
  return report::collect([&](report::Writer& out) {
    BlockWriter blocks(out);
    blocks.begin(kMomentMagic, kMomentVersion);
    BlockFields mark;
    mark.number(1).text("").text("").number(0).number(0).number(0).text("").text("");
    blocks.put(static_cast<std::uint16_t>(MomentBlock::mark), mark.bytes());
    blocks.put(type, plain);
    blocks.put(static_cast<std::uint16_t>(MomentBlock::end), {});
  });
}

TEST(MomentFile, EverythingIsInIt) {
  const MemoryMoment original = testing::sample_moment();
  const std::string bytes = moment_bytes(original);
  const auto copy = read_back(bytes);
  ASSERT_TRUE(copy);
  EXPECT_EQ(moment_bytes(*copy), bytes);
  EXPECT_EQ(std::tie(copy->pid, copy->name, copy->core_path),
            std::tie(original.pid, original.name, original.core_path));
  const MomentMark &m = copy->mark, &n = original.mark;
  EXPECT_EQ(std::tie(m.taken_unix_ns, m.is_time_of_file, m.started, m.host, m.version),
            std::tie(n.taken_unix_ns, n.is_time_of_file, n.started, n.host, n.version));
  ASSERT_EQ(m.runtimes.size(), 1u);
  EXPECT_EQ(m.runtimes[0].collections, n.runtimes[0].collections);
  ASSERT_TRUE(copy->account);
  const MemoryAccount &a = *copy->account, &b = *original.account;
  EXPECT_EQ(std::tie(a.resident, a.resident_by_kernel, a.swapped, a.limit, a.used_of_limit, a.allocator, a.diagnoses),
            std::tie(b.resident, b.resident_by_kernel, b.swapped, b.limit, b.used_of_limit, b.allocator, b.diagnoses));
  ASSERT_EQ(a.lines.size(), b.lines.size());
  for (std::size_t i = 0; i < a.lines.size(); i++)
    EXPECT_EQ(std::tie(a.lines[i].kind, a.lines[i].detail, a.lines[i].resident, a.lines[i].size),
              std::tie(b.lines[i].kind, b.lines[i].detail, b.lines[i].resident, b.lines[i].size));
  ASSERT_EQ(a.arenas.size(), 1u);
  EXPECT_EQ(a.arenas[0].used_chunks, 1000u);
  EXPECT_EQ(a.unknown[0].mapping, b.unknown[0].mapping);
  EXPECT_EQ(a.managed[0].objects, b.managed[0].objects);
  EXPECT_EQ(a.managed[0].regions, b.managed[0].regions);
  const HeapTypes &h = copy->heaps[0], &i = original.heaps[0];
  EXPECT_EQ(std::tie(h.objects, h.bytes, h.free_bytes, h.bytes_of, h.is_exact, h.pause, h.stops, h.copied_in_stop),
            std::tie(i.objects, i.bytes, i.free_bytes, i.bytes_of, i.is_exact, i.pause, i.stops, i.copied_in_stop));
  ASSERT_EQ(h.types.size(), i.types.size());
  for (std::size_t t = 0; t < h.types.size(); t++)
    EXPECT_EQ(
        std::tie(h.types[t].method_table, h.types[t].type, h.types[t].is_free, h.types[t].count, h.types[t].bytes),
        std::tie(i.types[t].method_table, i.types[t].type, i.types[t].is_free, i.types[t].count, i.types[t].bytes));
  ASSERT_TRUE(h.elements);
  EXPECT_EQ(h.elements->duplicates.bytes, 1200u);
  EXPECT_EQ(h.elements->most[0].text, "EUR ");
}

TEST(MomentFile, HalfAMomentIsNone) {
  const std::string bytes = moment_bytes(testing::sample_moment());
  for (std::size_t size = 0; size < bytes.size(); size++) {
    const auto part = read_back(std::string_view(bytes).substr(0, size));
    ASSERT_FALSE(part) << size;
    EXPECT_TRUE(part.error().code == ErrorCode::mismatch || part.error().code == ErrorCode::truncated) << size;
  }
}

TEST(MomentFile, ChangedBytesAreSeen) {
  const std::string bytes = moment_bytes(testing::sample_moment());
  for (std::size_t at = 0; at < bytes.size(); at++) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    EXPECT_FALSE(read_back(changed)) << at;
  }
}

TEST(MomentFile, OtherVersionsAndOtherBlocks) {
  std::string bytes = moment_bytes(testing::sample_moment());
  bytes[kMagicSize] = 2;
  EXPECT_EQ(read_back(bytes).error().code, ErrorCode::unsupported);
  EXPECT_TRUE(read_back(with_block(200, "of a later version")));
  EXPECT_EQ(read_back("no moment at all").error().code, ErrorCode::mismatch);
}

TEST(MomentFile, WhatIsWrongIsRefused) {
  BlockFields type;  // of a heap that is not there
  type.number(1).number(7).number(0).number(0).text("A").number(0).number(0);
  BlockFields many;
  many.number(1u << 30);
  BlockFields account;  // its lines do not add up to it
  account.number(5000).number(5000).number(0).number(0).number(0).text("");
  BlockFields huge;  // no process has so many bytes
  huge.number(std::uint64_t{1} << 60).number(0).number(0).number(0).number(0).text("");
  for (const auto& [block, plain] :
       {std::pair(MomentBlock::types, type.bytes()), std::pair(MomentBlock::lines, many.bytes()),
        std::pair(MomentBlock::account, account.bytes()), std::pair(MomentBlock::account, huge.bytes())}) {
    const auto read = read_back(with_block(static_cast<std::uint16_t>(block), plain));
    ASSERT_FALSE(read) << static_cast<int>(block);
    EXPECT_EQ(read.error().code, ErrorCode::malformed) << static_cast<int>(block);
  }
}

TEST(MomentFile, NoControlCharactersComeOutOfIt) {
  MemoryMoment moment = testing::sample_moment();
  moment.heaps[0].types[0].type = "a\x1b[31m";
  const auto copy = read_back(moment_bytes(moment));
  ASSERT_TRUE(copy);
  EXPECT_EQ(copy->heaps[0].types[0].type.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace mixstack::formats
