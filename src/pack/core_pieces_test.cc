#include "pack/core_pieces.h"

#include <gtest/gtest.h>

namespace mixstack::pack {
namespace {

constexpr std::array<std::byte, 3> kAbc{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};

std::string image_text(MemoryImage& image) {
  std::string text;
  image.for_each_run([&](Address address, std::span<std::byte> bytes) {
    text +=
        std::to_string(address) + ":" + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) + " ";
  });
  return text;
}

TEST(MemoryImage, WhatWasReadFirstCountsUntilItBeginsAgain) {
  MemoryImage image;
  image.add(100, kAbc);
  image.add(101, kAbc);
  EXPECT_EQ(image_text(image), "100:abcc ");
  image.begin_again();
  image.add(101, kAbc);
  image.add(102, kAbc);
  EXPECT_EQ(image_text(image), "100:aabcc ");
  image.replace(100, kAbc);
  image.remove({102, 104});
  EXPECT_EQ(image_text(image), "100:ab 104:c ");
}

TEST(RecordedPieces, NeighboursAcrossPagesAreOneAndBlankedAsOne) {
  MemoryImage image;
  const std::string text = "hunter22";
  image.add(4096 - 3, std::as_bytes(std::span(text)));
  const RecordedPieces recorded(std::move(image), {}, Blanker({"hunter22"}));
  const auto pieces = recorded.pieces();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(pieces[0].bytes.data()), pieces[0].bytes.size()), "********");
}

TEST(CorePieces, RangesFillWhatIsNotThereYet) {
  const std::vector<CorePiece> recorded{{{10, 20}, {}}, {{30, 40}, {}}};
  std::string text;
  for (const CorePiece& p : with_ranges(recorded, {{0, 35}, {38, 60}}, {50, 55}))
    text += std::to_string(p.range.begin) + "-" + std::to_string(p.range.end) + " ";
  EXPECT_EQ(text, "0-10 10-20 20-30 30-40 40-50 55-60 ");
}

}  // namespace
}  // namespace mixstack::pack
