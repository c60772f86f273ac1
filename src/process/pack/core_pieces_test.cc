#include "process/pack/core_pieces.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/memory/buffer_memory.h"
#include "process/pack/blanker.h"
#include "process/pack/names.h"
#include "process/pack/pack_writer.h"
#include "process/pack/tar_index.h"

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

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(RecordedPieces, NeighboursAcrossPagesAreOne) {
  MemoryImage image;
  image.add(4096 - 3, bytes_of("hunter22"));
  const RecordedPieces recorded(std::move(image), {});
  const auto pieces = recorded.pieces();
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(text_of(pieces[0].bytes), "hunter22");
  EXPECT_FALSE(pieces[0].is_public);
}

TEST(RecordedPieces, PagesOfFilesAreApartFromWhatTheProcessWrites) {
  const std::vector<Region> regions{{.range = {0, 4096}, .readable = true, .path = "/lib/a.so"},
                                    {.range = {4096, 8192}, .readable = true, .writable = true, .path = "/lib/a.so"}};
  MemoryImage image;
  image.add(4096 - 3, bytes_of("hunter22"));
  const RecordedPieces recorded(std::move(image), regions);
  const auto pieces = recorded.pieces();
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(text_of(pieces[0].bytes), "hun");
  EXPECT_TRUE(pieces[0].is_public);
  EXPECT_FALSE(pieces[1].is_public);
}

/// The memory in the core of a pack of these pieces.
std::string written(std::vector<CorePiece> pieces, const MemoryReader& memory) {
  base::ScopedFd fd(::memfd_create("pack", MFD_CLOEXEC));
  std::size_t size = 0;
  for (const CorePiece& piece : pieces) size += static_cast<std::size_t>(piece.range.size());
  const CoreLayout core(Arch::x86_64, {}, std::move(pieces), {});
  PackStream out(fd.get(), 0);
  EXPECT_EQ(write_members(out, "{}", core, memory, Blanker({"hunter22"}), {}).bytes_gone, 0u);
  EXPECT_TRUE(out.finish());
  const auto archive = process::CoreBytes::from_fd(std::move(fd), "pack", {});
  const auto index = archive ? index_tar(**archive) : fail(archive.error());
  if (!index || !index->members.contains(kCore)) return "none";
  const TarMember& member = index->members.find(kCore)->second;
  std::string text(size, '?');
  (void)(*archive)->read_at(member.offset + member.size - size, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(PackWriter, TextsAreBlankedWhereverPiecesMeet) {
  memory::BufferMemory memory;
  memory.add(1000, bytes_of("my hunter22 and hunter22!"));
  for (Address cut = 1001; cut < 1024; cut++) {
    const std::string_view text = "my hunter22 and hunter22!";
    const auto head = bytes_of(text.substr(0, cut - 1000)), tail = bytes_of(text.substr(cut - 1000));
    const AddressRange before{1000, cut}, after{cut, 1025};
    EXPECT_EQ(written({{before, head}, {after, {}}}, memory), "my ******** and ********!") << cut;
    EXPECT_EQ(written({{before, {}}, {after, tail}}, memory), "my ******** and ********!") << cut;
    EXPECT_EQ(written({{before, {}}, {after, {}}}, memory), "my ******** and ********!") << cut;
  }
}

TEST(PackWriter, PublicPiecesStayAsTheyAre) {
  const memory::BufferMemory none;
  const auto secret = bytes_of("hunter22");
  EXPECT_EQ(written({{{0, 8}, secret, true}, {{8, 16}, secret}, {{32, 40}, secret, true}}, none),
            "hunter22********hunter22");
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
