#include "process/pack/tar_header.h"

#include <gtest/gtest.h>

namespace mixstack::pack {
namespace {

TEST(TarHeader, SaysWhatWasWritten) {
  const auto bytes = tar_header_of("mixstack-pack/core", 1234567, 1'700'000'000);
  ASSERT_EQ(bytes.size(), kTarBlock);
  const auto header = parse_tar_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->path, "mixstack-pack/core");
  EXPECT_EQ(header->size, 1234567u);
  EXPECT_EQ(header->type, '0');
}

TEST(TarHeader, LongPathsAreCutWhereTheyMay) {
  const std::string path = "a/" + std::string(90, 'b') + "/" + std::string(60, 'c');
  const auto header = parse_tar_header(tar_header_of(path, 1, 0));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->path, path);
}

TEST(TarHeader, WhatDoesNotFitIsInAnExtendedHeader) {
  const std::string path = "a/" + std::string(300, 'b');
  const std::uint64_t size = std::uint64_t{1} << 40;
  const auto bytes = tar_header_of(path, size, 0);
  ASSERT_EQ(bytes.size(), 3 * kTarBlock);
  const auto extended = parse_tar_header(bytes);
  ASSERT_TRUE(extended);
  EXPECT_EQ(extended->type, 'x');
  auto header = parse_tar_header(std::span(bytes).subspan(2 * kTarBlock));
  ASSERT_TRUE(header);
  const auto* records = reinterpret_cast<const char*>(bytes.data() + kTarBlock);
  ASSERT_TRUE(apply_pax_records({records, static_cast<std::size_t>(extended->size)}, *header));
  EXPECT_EQ(header->path, path);
  EXPECT_EQ(header->size, size);
}

TEST(TarHeader, AByteThatChangedIsSeen) {
  auto bytes = tar_header_of("mixstack-pack/core", 5, 0);
  bytes[3] ^= std::byte{1};
  EXPECT_FALSE(parse_tar_header(bytes));
}

TEST(TarHeader, DamagedRecordsAreRefused) {
  TarHeader header;
  for (const std::string_view text : {"12 path=a", "5 path=abc\n", "99 path=a\n", "x path=a\n", "11 path abc\n",
                                      "12 size=12x\n", "3 \n", "0 path=a\n"})
    EXPECT_FALSE(apply_pax_records(text, header)) << text;
  EXPECT_TRUE(apply_pax_records("12 path=abc\n", header));
  EXPECT_EQ(header.path, "abc");
}

}  // namespace
}  // namespace mixstack::pack
